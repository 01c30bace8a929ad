// RUN: invalid

// expected-error: expected one builtin.module, got func.func
ttcore.device_module {
  func.func @f() {
    func.return
  }
}

// -----

// expected-error: expected a single block, but got 0 blocks
ttcore.cpu_module {
}

// -----

// expected-error: device_attr has no workerGrid
ttcore.device @default_device = <chipIds = [0]>

// -----

// expected-error: undefined symbol alias '#nowhere'
func.func @f() attributes {x = #nowhere} {
  func.return
}

// -----

// expected-error: re-declaration of alias '#a'
#a = 1 : i32
#a = 2 : i32
func.func @f() attributes {x = #a} {
  func.return
}

// -----

// expected-error: definition of alias '#a' contains the alias itself
#a = #b
#b = #a
func.func @f() attributes {x = #a} {
  func.return
}
