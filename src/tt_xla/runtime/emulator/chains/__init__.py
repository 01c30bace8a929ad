"""The second engine: chains of elementwise ops compiled to one loop each, where a C++ compiler is there."""
