MemcpyHtoD,0x00007f2a40000000,512
kernel-1.traceg
kernel-2.traceg
kernel-3.traceg
MemcpyHtoD,0x00007f2a40000000,512
kernel-4.traceg
