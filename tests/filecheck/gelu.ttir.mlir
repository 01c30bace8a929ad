// CHECK: ttir.gelu
// CHECK-NOT: ttir.erf
