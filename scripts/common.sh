# SPDX-License-Identifier: MIT
# What the scripts share: messages, and packages of Debian 12. Read with `.`, not run.

# What group or others can write is not loaded as a plugin.
umask 022

say() {
    printf '\n== %s\n' "$*"
}

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

require_debian_12() {
    local system=unknown
    if [ -r /etc/os-release ]; then
        system=$(. /etc/os-release && echo "$ID ${VERSION_ID:-}")
    fi
    [ "$system" = "debian 12" ] ||
        fail "cannot set up a '$system' system, only 'debian 12'; install the packages that" \
            "docs/dependencies.md lists yourself and set QKERN_SKIP_PACKAGES=1"
}

# Runs a command as root: directly, or through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "cannot run '$*': not root, and there is no sudo; run it as root, then start again"
    fi
}

# NAME is of this machine's architecture, NAME:ARCHITECTURE of the one named.
package_installed() {
    local architecture
    case $1 in
    *:*) architecture=${1#*:} ;;
    *) architecture=$(dpkg --print-architecture) ;;
    esac
    dpkg-query -W -f='${db:Status-Status} ${Architecture}\n' "${1%:*}" 2>/dev/null |
        grep -qxE "installed ($architecture|all)"
}

# Installs those of the named packages that are missing. A name may end in :ARCHITECTURE. Does
# nothing, and needs no rights and no network, if all are there.
install_packages() {
    local package missing=()

    if [ "${QKERN_SKIP_PACKAGES:-0}" = 1 ]; then
        return
    fi
    require_debian_12
    for package in "$@"; do
        package_installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        return
    fi
    say "Installing packages: ${missing[*]}"
    for package in "${missing[@]}"; do
        case $package in
        *:arm64)
            if ! dpkg --print-foreign-architectures | grep -qx arm64; then
                echo "adding arm64 to the architectures of packages that may be installed"
                as_root dpkg --add-architecture arm64
            fi
            ;;
        esac
    done
    as_root apt-get -q -o Acquire::Retries=3 update
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o Acquire::Retries=3 --no-install-recommends install "${missing[@]}" ||
        fail "apt-get could not install: ${missing[*]}; its message stands above"
}

BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config liblua5.4-dev)
