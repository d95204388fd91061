"""The model and its processor: a checkpoint from disk, or a tiny one made on the spot.

The tiny one is a Qwen2.5-VL of a few million random weights with a byte tokenizer, so that the
whole pipeline runs on two CPU cores without any download.
"""

import torch
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForImageTextToText,
    AutoProcessor,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    Qwen2VLImageProcessor,
    Qwen2VLVideoProcessor,
)

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
# What the model sees of a picture: at most 224 x 224 pixels, 64 tokens of 28 x 28.
SEEN_PIXELS = 224 * 224
# Larger than the byte tokenizer needs: the gathered logits of an evaluation are
# examples x length x vocabulary x 4 bytes, and that is the spike a real model has.
VOCABULARY = 8192
WIDTH = 192


def tiny_tokenizer():
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=SPECIAL[1:],
        padding_side="right",
    )


def tiny_processor():
    size = {"shortest_edge": 56 * 56, "longest_edge": SEEN_PIXELS}
    return Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(size=size),
        tokenizer=tiny_tokenizer(),
        video_processor=Qwen2VLVideoProcessor(),
        chat_template="",
    )


def tiny_model(tokenizer):
    token = tokenizer.convert_tokens_to_ids
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": VOCABULARY,
            "hidden_size": WIDTH,
            "intermediate_size": 2 * WIDTH,
            "num_hidden_layers": 3,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 1024,
            "use_cache": False,
            "bos_token_id": None,
            "eos_token_id": token("<|im_end|>"),
            "pad_token_id": token("<|endoftext|>"),
            "rope_scaling": {"type": "mrope", "mrope_section": [8, 8, 8]},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 96,
            "intermediate_size": 192,
            "num_heads": 4,
            "out_hidden_size": WIDTH,
            "fullatt_block_indexes": [1],
        },
        image_token_id=token("<|image_pad|>"),
        video_token_id=token("<|video_pad|>"),
        vision_start_token_id=token("<|vision_start|>"),
        vision_end_token_id=token("<|vision_end|>"),
    )
    return Qwen2_5_VLForConditionalGeneration(config)


def load(path, gpu):
    """(model, processor), ready for training with LoRA."""
    if path == "tiny":
        processor = tiny_processor()
        model = tiny_model(processor.tokenizer)
    else:
        processor = AutoProcessor.from_pretrained(path, min_pixels=56 * 56, max_pixels=SEEN_PIXELS)
        options = {"dtype": torch.bfloat16 if gpu else torch.float32}
        if gpu:
            from transformers import BitsAndBytesConfig

            options["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_quant_type="nf4"
            )
            options["device_map"] = {"": 0}
        model = AutoModelForImageTextToText.from_pretrained(path, **options)
    model.config.use_cache = False
    lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.0, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"])
    return get_peft_model(model, lora), processor
