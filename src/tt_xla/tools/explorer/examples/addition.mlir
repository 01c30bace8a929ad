// The example graph of tt-explorer's documentation: TTIR in the older form, with a destination for each result.
func.func @forward(%arg0: tensor<64x128xbf16>, %arg1: tensor<64x128xbf16>, %arg2: tensor<64x128xbf16>,
                   %arg3: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %0 = ttir.empty() : tensor<64x128xbf16>
  %1 = "ttir.add"(%arg0, %arg1, %0)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %2 = ttir.empty() : tensor<64x128xbf16>
  %3 = "ttir.add"(%arg2, %arg3, %2)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %4 = ttir.empty() : tensor<64x128xbf16>
  %5 = "ttir.add"(%1, %3, %4)
    : (tensor<64x128xbf16>, tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  %6 = ttir.empty() : tensor<64x128xbf16>
  %7 = "ttir.relu"(%5, %6) : (tensor<64x128xbf16>, tensor<64x128xbf16>) -> tensor<64x128xbf16>
  return %7 : tensor<64x128xbf16>
}
