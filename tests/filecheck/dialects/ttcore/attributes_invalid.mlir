// RUN: invalid

// expected-error: expected a tile of 32x32
func.func @f() attributes {x = !ttcore.tile<16x32, bf16>} {
  func.return
}

// -----

// expected-error: expected one of f32, bf16, bfp_bf8, bfp_bf4, u32, u16, u8, si32, got 'f64'
func.func @f() attributes {x = !ttcore.tile<32x32, f64>} {
  func.return
}

// -----

// expected-error: expected one of input, parameter, constant, got 'weight'
func.func @f() attributes {x = #ttcore.argument_type<weight>} {
  func.return
}

// -----

// expected-error: expected one of f32, bf16, bfp_bf8, bfp_bf4, u32, u16, u8, si32, got 'int'
func.func @f() attributes {x = #ttcore.supportedDataTypes<int>} {
  func.return
}
