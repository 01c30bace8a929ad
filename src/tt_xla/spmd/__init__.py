"""Facts about Programs for several chips that the runtime and generated source both need."""
