// RUN: invalid

// expected-error: 'ttir.rank_collective' op: kind is 'send', expected one of all_gather, all_reduce, all_to_all, broadcast, reduce_scatter
func.func @kind(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.rank_collective"(%0) <{kind = "send", process_group = "0", ranks = 4 : ui32, element_type = "bf16"}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: 'ttir.rank_collective' op: all_reduce has reduce_type None; all_reduce and reduce_scatter have one, and no other kind
func.func @without_reduction(%0: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  %1 = "ttir.rank_collective"(%0) <{kind = "all_reduce", process_group = "0", ranks = 4 : ui32, element_type = "bf16"}> : (tensor<2x3xbf16>) -> tensor<2x3xbf16>
  func.return %1 : tensor<2x3xbf16>
}

// -----

// expected-error: 'ttir.rank_collective' op: all_gather has reduce_type sum; all_reduce and reduce_scatter have one, and no other kind
func.func @with_reduction(%0: tensor<2x3xbf16>) -> tensor<8x3xbf16> {
  %1 = "ttir.rank_collective"(%0) <{kind = "all_gather", process_group = "0", ranks = 4 : ui32, reduce_type = #ttcore.reduce_type<sum>, element_type = "bf16"}> : (tensor<2x3xbf16>) -> tensor<8x3xbf16>
  func.return %1 : tensor<8x3xbf16>
}

// -----

// expected-error: 'ttir.rank_collective' op: reduce_scatter of 4 ranks has an operand of shape (8, 3) and a result of shape (3, 3)
func.func @shape(%0: tensor<8x3xbf16>) -> tensor<3x3xbf16> {
  %1 = "ttir.rank_collective"(%0) <{kind = "reduce_scatter", process_group = "0", ranks = 4 : ui32, reduce_type = #ttcore.reduce_type<sum>, element_type = "bf16"}> : (tensor<8x3xbf16>) -> tensor<3x3xbf16>
  func.return %1 : tensor<3x3xbf16>
}

// -----

// expected-error: 'ttir.rank_collective' op: all_gather of 4 ranks has an operand of shape () and a result of shape (4,)
func.func @scalar(%0: tensor<bf16>) -> tensor<4xbf16> {
  %1 = "ttir.rank_collective"(%0) <{kind = "all_gather", process_group = "0", ranks = 4 : ui32, element_type = "bf16"}> : (tensor<bf16>) -> tensor<4xbf16>
  func.return %1 : tensor<4xbf16>
}
