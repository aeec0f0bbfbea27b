000000000000a1e0 <q4_K_four_rows>:
    a1e0:	push   rbp
    a1e1:	vpbroadcastq ymm1,rdx
    a1e7:	vpbroadcastq ymm0,rcx
    a1ed:	mov    rbp,rsp
    a1f0:	push   r14
    a1f2:	push   r13
    a1f4:	push   r12
    a1f6:	push   rbx
    a1f7:	and    rsp,0xffffffffffffffc0
    a1fb:	sub    rsp,0x48
    a1ff:	vpmullq ymm0,ymm0,YMMWORD PTR [rip+0x7df7]        # 12000 <_fini+0xdf4>
    a209:	vpaddq ymm0,ymm0,ymm1
    a20d:	vpxor  xmm1,xmm1,xmm1
    a211:	vmovdqa64 ZMMWORD PTR [rsp-0x38],zmm1
    a21c:	test   rdi,rdi
    a21f:	je     a84e <q4_K_four_rows+0x66e>
    a225:	vextracti64x2 xmm3,ymm0,0x1
    a22c:	mov    rdx,r8
    a22f:	vxorps xmm5,xmm5,xmm5
    a233:	xor    eax,eax
    a235:	valignq ymm4,ymm0,ymm0,0x3
    a23c:	lea    r12,[rcx*4+0x0]
    a244:	movabs r8,0x3030303030303030
    a24e:	vmovaps XMMWORD PTR [rsp-0x48],xmm5
    a254:	vpbroadcastq zmm16,r8
    a25a:	mov    r8d,0xf0f0f0f
    a260:	xor    ecx,ecx
    a262:	vmovaps XMMWORD PTR [rsp-0x68],xmm5
    a268:	vmovaps XMMWORD PTR [rsp-0x58],xmm5
    a26e:	vmovaps xmm19,xmm5
    a274:	vmovdqa32 zmm24,ZMMWORD PTR [rip+0x8b42]        # 12dc0 <no_w.9+0x80>
    a27e:	vmovdqa64 zmm30,ZMMWORD PTR [rip+0x9038]        # 132c0 <no_w.9+0x580>
    a288:	vmovdqa32 zmm29,ZMMWORD PTR [rip+0x906e]        # 13300 <no_w.9+0x5c0>
    a292:	vmovq  rbx,xmm0
    a297:	vmovdqa64 zmm17,ZMMWORD PTR [rip+0x909f]        # 13340 <no_w.9+0x600>
    a2a1:	vpextrq r10,xmm0,0x1
    a2a7:	vmovdqa32 zmm15,ZMMWORD PTR [rip+0x90cf]        # 13380 <no_w.9+0x640>
    a2b1:	lea    r14,[r12+0x40]
    a2b6:	vmovdqa64 zmm28,ZMMWORD PTR [rip+0x9100]        # 133c0 <no_w.9+0x680>
    a2c0:	lea    r13,[r12+0x80]
    a2c8:	vmovdqa64 zmm5,ZMMWORD PTR [rip+0x912e]        # 13400 <no_w.9+0x6c0>
    a2d2:	vmovq  r11,xmm3
    a2d7:	vpbroadcastd zmm3,r8d
    a2dd:	movabs r8,0x5555555555555555
    a2e7:	vmovq  r9,xmm4
    a2ec:	kmovq  k1,r8
    a2f1:	vmovdqa64 zmm23,ZMMWORD PTR [rip+0x9145]        # 13440 <no_w.9+0x700>
    a2fb:	vmovdqa64 zmm22,ZMMWORD PTR [rip+0x917b]        # 13480 <no_w.9+0x740>
    a305:	vmovdqa64 zmm21,ZMMWORD PTR [rip+0x91b1]        # 134c0 <no_w.9+0x780>
    a30f:	vpxor  xmm4,xmm4,xmm4
    a313:	vmovdqa64 zmm20,ZMMWORD PTR [rip+0x91e3]        # 13500 <no_w.9+0x7c0>
    a31d:	vmovdqa64 zmm27,ZMMWORD PTR [rip+0x9219]        # 13540 <no_w.9+0x800>
    a327:	vmovdqa64 zmm26,ZMMWORD PTR [rip+0x924f]        # 13580 <no_w.9+0x840>
    a331:	jmp    a350 <q4_K_four_rows+0x170>
    a333:	nop    DWORD PTR [rax+rax*1+0x0]
    a338:	vmovaps xmm7,XMMWORD PTR [rsp-0x68]
    a33e:	vmovaps XMMWORD PTR [rsp-0x48],xmm0
    a344:	vmovaps XMMWORD PTR [rsp-0x68],xmm1
    a34a:	vmovaps XMMWORD PTR [rsp-0x58],xmm7
    a350:	vmovdqu xmm0,XMMWORD PTR [rdx+0x104]
    a358:	vmovdqu xmm2,XMMWORD PTR [rbx+rax*1]
    a35d:	vmovdqa32 zmm9,zmm4
    a363:	prefetcht0 BYTE PTR [rbx+r12*1]
    a368:	vinserti64x2 ymm0,ymm0,XMMWORD PTR [rdx+0x104],0x1
    a373:	vinserti64x2 ymm2,ymm2,XMMWORD PTR [r10+rax*1],0x1
    a37b:	prefetcht0 BYTE PTR [rbx+r14*1]
    a380:	prefetcht0 BYTE PTR [rbx+r13*1]
    a385:	vbroadcastss xmm18,DWORD PTR [rdx]
    a38b:	prefetcht0 BYTE PTR [r10+r12*1]
    a390:	prefetcht0 BYTE PTR [r10+r14*1]
    a395:	vbroadcasti64x4 zmm12,YMMWORD PTR [rbx+rax*1+0x30]
    a3a0:	vmovdqa ymm1,ymm0
    a3a4:	prefetcht0 BYTE PTR [r10+r13*1]
    a3a9:	prefetcht0 BYTE PTR [r11+r12*1]
    a3ae:	vbroadcasti64x4 zmm14,YMMWORD PTR [rbx+rax*1+0x50]
    a3b9:	vinserti64x4 zmm1,zmm1,ymm0,0x1
    a3c0:	vpsrlvq zmm12,zmm12,zmm5
    a3c6:	prefetcht0 BYTE PTR [r11+r14*1]
    a3cb:	vmovdqu xmm0,XMMWORD PTR [rdx+0x114]
    a3d3:	vpsrlvq zmm14,zmm14,zmm5
    a3d9:	prefetcht0 BYTE PTR [r11+r13*1]
    a3de:	prefetcht0 BYTE PTR [r9+r12*1]
    a3e3:	vinserti64x2 ymm0,ymm0,XMMWORD PTR [rdx+0x114],0x1
    a3ee:	vbroadcasti64x4 zmm10,YMMWORD PTR [rbx+rax*1+0x70]
    a3f9:	vpandd zmm12,zmm12,zmm3
    a3ff:	prefetcht0 BYTE PTR [r9+r14*1]
    a404:	prefetcht0 BYTE PTR [r9+r13*1]
    a409:	vmovdqa ymm11,ymm0
    a40d:	vpandd zmm14,zmm14,zmm3
    a413:	add    rcx,0x1
    a417:	add    rdx,0x124
    a41e:	vinserti64x4 zmm11,zmm11,ymm0,0x1
    a425:	vmovdqu xmm0,XMMWORD PTR [r11+rax*1]
    a42b:	vinserti64x2 ymm0,ymm0,XMMWORD PTR [r9+rax*1],0x1
    a433:	vpermd zmm1,zmm24,zmm1
    a439:	vpsrlvq zmm10,zmm10,zmm5
    a43f:	vpermd zmm11,zmm24,zmm11
    a445:	add    r12,0x90
    a44c:	add    r14,0x90
    a453:	vinserti64x4 zmm2,zmm2,ymm0,0x1
    a45a:	add    r13,0x90
    a461:	vpshufb zmm7,zmm2,zmm30
    a467:	vpshufb zmm0,zmm2,zmm17
    a46d:	vpandd zmm10,zmm10,zmm3
    a473:	vpsrlvd zmm7,zmm7,zmm29
    a479:	vpsrlw zmm0,zmm0,0x2
    a480:	vpermw zmm2,zmm28,zmm2
    a486:	vcvtph2ps ymm2,xmm2
    a48b:	vpandd zmm7,zmm7,zmm15
    a491:	vpternlogq zmm7,zmm0,zmm16,0xf8
    a498:	vbroadcasti64x4 zmm0,YMMWORD PTR [rbx+rax*1+0x10]
    a4a3:	vpmovsxbw zmm6,ymm7
    a4a9:	vextracti64x4 ymm8,zmm7,0x1
    a4b0:	vpsrlvq zmm0,zmm0,zmm5
    a4b6:	vpermw zmm25,zmm22,zmm6
    a4bc:	vpermw zmm13,zmm23,zmm6
    a4c2:	vpmovsxbw zmm8,ymm8
    a4c8:	vpandd zmm0,zmm0,zmm3
    a4ce:	vpermw zmm31,zmm22,zmm8
    a4d4:	vpdpbusd zmm9,zmm0,ZMMWORD PTR [rdx-0x120]
    a4de:	vmovdqa32 zmm0,zmm4
    a4e4:	vpdpbusd zmm0,zmm12,ZMMWORD PTR [rdx-0xe0]
    a4ee:	vmovdqa32 zmm12,zmm4
    a4f4:	vpdpbusd zmm12,zmm14,ZMMWORD PTR [rdx-0xa0]
    a4fe:	vmovdqa32 zmm14,zmm4
    a504:	vpdpbusd zmm14,zmm10,ZMMWORD PTR [rdx-0x60]
    a50e:	vpackssdw zmm9,zmm9,zmm0
    a514:	vpmaddwd zmm0,zmm9,zmm25
    a51a:	vbroadcasti64x4 zmm25,YMMWORD PTR [r10+rax*1+0x10]
    a525:	vmovdqa32 zmm9,zmm4
    a52b:	vpackssdw zmm12,zmm12,zmm14
    a531:	vbroadcasti64x4 zmm14,YMMWORD PTR [r10+rax*1+0x30]
    a53c:	vpdpwssd zmm0,zmm12,zmm13
    a542:	vpsrlvq zmm25,zmm25,zmm5
    a548:	vbroadcasti64x4 zmm12,YMMWORD PTR [r10+rax*1+0x50]
    a553:	vbroadcasti64x4 zmm10,YMMWORD PTR [r10+rax*1+0x70]
    a55e:	vpsrlvq zmm14,zmm14,zmm5
    a564:	vpermw zmm13,zmm21,zmm6
    a56a:	vpermw zmm6,zmm20,zmm6
    a570:	vpandd zmm25,zmm25,zmm3
    a576:	vpsrlvq zmm12,zmm12,zmm5
    a57c:	vpdpbusd zmm9,zmm25,ZMMWORD PTR [rdx-0x120]
    a586:	vpandd zmm14,zmm14,zmm3
    a58c:	vpsrlvq zmm10,zmm10,zmm5
    a592:	vmovdqa32 zmm25,zmm4
    a598:	vpdpbusd zmm25,zmm14,ZMMWORD PTR [rdx-0xe0]
    a5a2:	vpandd zmm12,zmm12,zmm3
    a5a8:	vmovdqa32 zmm14,zmm4
    a5ae:	vpdpbusd zmm14,zmm12,ZMMWORD PTR [rdx-0xa0]
    a5b8:	vpandd zmm10,zmm10,zmm3
    a5be:	vmovdqa32 zmm12,zmm4
    a5c4:	vpdpbusd zmm12,zmm10,ZMMWORD PTR [rdx-0x60]
    a5ce:	vmovdqa32 zmm10,zmm4
    a5d4:	vpackssdw zmm9,zmm9,zmm25
    a5da:	vpermw zmm25,zmm23,zmm8
    a5e0:	vpmaddwd zmm9,zmm9,zmm6
    a5e6:	vbroadcasti64x4 zmm6,YMMWORD PTR [r11+rax*1+0x10]
    a5f1:	vpackssdw zmm14,zmm14,zmm12
    a5f7:	vbroadcasti64x4 zmm12,YMMWORD PTR [r11+rax*1+0x70]
    a602:	vpdpwssd zmm9,zmm14,zmm13
    a608:	vbroadcasti64x4 zmm14,YMMWORD PTR [r11+rax*1+0x30]
    a613:	vpsrlvq zmm6,zmm6,zmm5
    a619:	vbroadcasti64x4 zmm13,YMMWORD PTR [r11+rax*1+0x50]
    a624:	vpsrlvq zmm12,zmm12,zmm5
    a62a:	vpsrlvq zmm14,zmm14,zmm5
    a630:	vpsrlvq zmm13,zmm13,zmm5
    a636:	vpandd zmm6,zmm6,zmm3
    a63c:	vpdpbusd zmm10,zmm6,ZMMWORD PTR [rdx-0x120]
    a646:	vmovdqa32 zmm6,zmm4
    a64c:	vpandd zmm12,zmm12,zmm3
    a652:	vpandd zmm14,zmm14,zmm3
    a658:	vpandd zmm13,zmm13,zmm3
    a65e:	vpdpbusd zmm6,zmm14,ZMMWORD PTR [rdx-0xe0]
    a668:	vmovdqa32 zmm14,zmm4
    a66e:	vpdpbusd zmm14,zmm13,ZMMWORD PTR [rdx-0xa0]
    a678:	vmovdqa32 zmm13,zmm4
    a67e:	vpdpbusd zmm13,zmm12,ZMMWORD PTR [rdx-0x60]
    a688:	vbroadcasti64x4 zmm12,YMMWORD PTR [r9+rax*1+0x70]
    a693:	vpsrlvq zmm12,zmm12,zmm5
    a699:	vpackssdw zmm10,zmm10,zmm6
    a69f:	vpandd zmm12,zmm12,zmm3
    a6a5:	vpmaddwd zmm6,zmm10,zmm31
    a6ab:	vbroadcasti64x4 zmm31,YMMWORD PTR [r9+rax*1+0x10]
    a6b6:	vpermw zmm10,zmm20,zmm8
    a6bc:	vpackssdw zmm14,zmm14,zmm13
    a6c2:	vbroadcasti64x4 zmm13,YMMWORD PTR [r9+rax*1+0x50]
    a6cd:	vpdpwssd zmm6,zmm14,zmm25
    a6d3:	vbroadcasti64x4 zmm14,YMMWORD PTR [r9+rax*1+0x30]
    a6de:	vpsrlvq zmm31,zmm31,zmm5
    a6e4:	vpermw zmm25,zmm21,zmm8
    a6ea:	vpsrlvq zmm13,zmm13,zmm5
    a6f0:	vmovdqa32 zmm8,zmm4
    a6f6:	add    rax,0x90
    a6fc:	vpsrlvq zmm14,zmm14,zmm5
    a702:	vpandd zmm31,zmm31,zmm3
    a708:	vpdpbusd zmm8,zmm31,ZMMWORD PTR [rdx-0x120]
    a712:	vmovdqa32 zmm31,zmm4
    a718:	vpandd zmm13,zmm13,zmm3
    a71e:	vpandd zmm14,zmm14,zmm3
    a724:	vpdpbusd zmm31,zmm14,ZMMWORD PTR [rdx-0xe0]
    a72e:	vmovdqa32 zmm14,zmm4
    a734:	vpdpbusd zmm14,zmm13,ZMMWORD PTR [rdx-0xa0]
    a73e:	vmovdqa32 zmm13,zmm4
    a744:	vpdpbusd zmm13,zmm12,ZMMWORD PTR [rdx-0x60]
    a74e:	vpackssdw zmm8,zmm8,zmm31
    a754:	vpmaddwd zmm8,zmm8,zmm10
    a75a:	vpunpckhdq zmm10,zmm0,zmm9
    a760:	vpunpckldq zmm0,zmm0,zmm9
    a766:	vpackssdw zmm14,zmm14,zmm13
    a76c:	vpaddd zmm0,zmm0,zmm10
    a772:	vpdpwssd zmm8,zmm14,zmm25
    a778:	vpunpckhdq zmm9,zmm6,zmm8
    a77e:	vpunpckldq zmm6,zmm6,zmm8
    a784:	vpaddd zmm6,zmm6,zmm9
    a78a:	vpermb zmm9{k1}{z},zmm26,zmm7
    a790:	vpunpckhqdq zmm8,zmm0,zmm6
    a796:	vpunpcklqdq zmm0,zmm0,zmm6
    a79c:	vpmaddwd zmm1,zmm1,zmm9
    a7a2:	vpaddd zmm0,zmm0,zmm8
    a7a8:	vextracti64x4 ymm6,zmm0,0x1
    a7af:	vpaddd ymm0,ymm0,ymm6
    a7b3:	vextracti64x2 xmm6,ymm0,0x1
    a7ba:	vmovdqa xmm8,xmm0
    a7be:	vpermb zmm0{k1}{z},zmm27,zmm7
    a7c4:	vpdpwssd zmm1,zmm11,zmm0
    a7ca:	vextractf128 xmm7,ymm2,0x1
    a7d0:	vmulps xmm7,xmm7,xmm18
    a7d6:	vmulps xmm2,xmm2,xmm18
    a7dc:	vextracti64x4 ymm0,zmm1,0x1
    a7e3:	vpaddd ymm0,ymm1,ymm0
    a7e7:	vpaddd xmm1,xmm8,xmm6
    a7eb:	vextracti64x2 xmm9,ymm0,0x1
    a7f2:	vcvtdq2ps xmm1,xmm1
    a7f6:	vpaddd xmm0,xmm0,xmm9
    a7fb:	vmulps xmm1,xmm1,xmm2
    a7ff:	vcvtdq2ps xmm0,xmm0
    a803:	vmulps xmm0,xmm0,xmm7
    a807:	vsubps xmm0,xmm1,xmm0
    a80b:	vmovaps xmm1,XMMWORD PTR [rsp-0x48]
    a811:	vaddps xmm0,xmm0,xmm19
    a817:	vmovaps xmm19,XMMWORD PTR [rsp-0x58]
    a822:	cmp    rdi,rcx
    a825:	jne    a338 <q4_K_four_rows+0x158>
    a82b:	vmovaps xmm5,XMMWORD PTR [rsp-0x68]
    a831:	vmovaps XMMWORD PTR [rsp-0x38],xmm19
    a83c:	vmovaps XMMWORD PTR [rsp-0x18],xmm1
    a842:	vmovaps XMMWORD PTR [rsp-0x28],xmm5
    a848:	vmovaps XMMWORD PTR [rsp-0x8],xmm0
    a84e:	mov    rax,rdi
    a851:	vmovaps xmm3,XMMWORD PTR [rsp-0x38]
    a857:	vmovaps xmm4,XMMWORD PTR [rsp-0x28]
    a85d:	and    eax,0x3
    a860:	vmovaps xmm5,XMMWORD PTR [rsp-0x18]
    a866:	shl    rax,0x4
    a86a:	vmovaps XMMWORD PTR [rsp+rax*1+0x8],xmm3
    a870:	lea    rax,[rdi+0x1]
    a874:	vmovaps xmm3,XMMWORD PTR [rsp-0x8]
    a87a:	and    eax,0x3
    a87d:	shl    rax,0x4
    a881:	vmovaps XMMWORD PTR [rsp+rax*1+0x8],xmm4
    a887:	lea    rax,[rdi+0x2]
    a88b:	and    eax,0x3
    a88e:	shl    rax,0x4
    a892:	vmovaps XMMWORD PTR [rsp+rax*1+0x8],xmm5
    a898:	lea    rax,[rdi+0x3]
    a89c:	and    eax,0x3
    a89f:	shl    rax,0x4
    a8a3:	vmovaps XMMWORD PTR [rsp+rax*1+0x8],xmm3
    a8a9:	vmovaps xmm4,XMMWORD PTR [rsp+0x8]
    a8af:	vmovaps xmm5,XMMWORD PTR [rsp+0x18]
    a8b5:	vaddps xmm0,xmm4,XMMWORD PTR [rsp+0x28]
    a8bb:	vaddps xmm1,xmm5,XMMWORD PTR [rsp+0x38]
    a8c1:	vaddps xmm0,xmm0,xmm1
    a8c5:	vmovups XMMWORD PTR [rsi],xmm0
    a8c9:	vzeroupper
    a8cc:	lea    rsp,[rbp-0x20]
    a8d0:	pop    rbx
    a8d1:	pop    r12
    a8d3:	pop    r13
    a8d5:	pop    r14
    a8d7:	pop    rbp
    a8d8:	ret
