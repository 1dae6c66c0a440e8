"""What the fake index has: a little of everything that the real one has."""

from __future__ import annotations

from tests.unit.refresh.fakes import FakeIndex, File, cudnn, fat_binary, metadata, tensorflow, torch, wheel

X86 = 'platform_system == "Linux" and platform_machine == "x86_64"'
LINUX = "(sys_platform == 'linux' or sys_platform == 'win32')"
TORCH_2_10 = (f"nvidia-cudnn-cu12==9.10.2.21; {X86}", f"nvidia-nccl-cu12==2.27.5; {X86}", "filelock")
TORCH_2_14 = (
    'cuda-toolkit[cublas,cudart]==13.0.3; platform_system == "Linux"',
    'nvidia-cudnn-cu13==9.24.0.43; platform_system == "Linux"',
    'nvidia-nccl-cu13==2.30.7; platform_system == "Linux"',
)
TENSORFLOW_2_18 = (
    'numpy<2.1.0,>=1.23.5; python_version <= "3.11"',
    'numpy<2.1.0,>=1.26.0; python_version >= "3.12"',
    "nvidia-cublas-cu12==12.5.3.2; extra == 'and-cuda'",
    "nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == 'and-cuda'",
    "nvidia-nccl-cu12==2.21.5; extra == 'and-cuda'",
)


def toolkit(version: str, *rows: str) -> File:
    """A metapackage; each row is a requirement and the extras it stands in."""
    requires = []
    for row in rows:
        pin, _, extras = row.partition(" ")
        requires += [f"{pin}; {LINUX} and extra == '{extra}'" for extra in (extras or "all").split()]
    content = wheel(metadata("cuda-toolkit", version, *requires))
    return File(f"cuda_toolkit-{version}-py2.py3-none-any.whl", content)


def fill(index: FakeIndex) -> None:
    old = torch("2.10.0", "12.8", *TORCH_2_10, arch="sm_70 sm_90", before=b"'")
    new = torch("2.10.0", "12.8", *TORCH_2_10, arch="sm_70 sm_90 compute_90")
    cpu = torch("2.10.0", None, *TORCH_2_10)
    index.add(
        "torch",
        File("torch-2.10.0-cp311-cp311-manylinux_2_28_x86_64.whl", old, "2026-01-21"),
        File("torch-2.10.0-3-cp311-cp311-manylinux_2_28_x86_64.whl", new, "2026-03-11"),
        File("torch-2.10.0-cp310-cp310-manylinux_2_28_x86_64.whl", old, "2026-01-21"),
        File("torch-2.10.0-cp313-cp313t-manylinux_2_28_x86_64.whl", old, "2026-01-22"),
        File("torch-2.10.0-cp310-cp310-manylinux_2_28_aarch64.whl", cpu, "2026-01-21"),
        File("torch-2.10.0-cp311-none-macosx_11_0_arm64.whl", b"", "2026-01-20"),
        File("torch-2.11.0rc1-cp311-cp311-manylinux_2_28_x86_64.whl", b""),
        File("torch-2.10.0.post1-cp311-cp311-manylinux_2_28_x86_64.whl", b""),
        File("torch-2.0.0-cp311-cp311-manylinux1_x86_64.whl", b""),
        File("torch-1.0.tar.gz", b""),
    )
    numpy_1 = torch("2.2.0", "12.1", arch="sm_50", numpy2=False)
    index.add("torch", File("torch-2.2.0-cp311-cp311-manylinux1_x86_64.whl", numpy_1, "2024-01-30", ">=3.8.0"))
    index.add(
        "torchvision",
        File(
            "torchvision-0.25.0-cp311-cp311-manylinux_2_28_x86_64.whl",
            wheel(metadata("torchvision", "0.25.0", "torch==2.10.0")),
        ),
        File(
            "torchvision-0.25.1-cp311-cp311-manylinux_2_28_x86_64.whl",
            wheel(metadata("torchvision", "0.25.1", "torch==2.10.0")),
            yanked="wrong",
        ),
        File(
            "torchvision-0.29.1-py3-none-manylinux_2_28_x86_64.whl",
            wheel(metadata("torchvision", "0.29.1", "torch>=2.10")),
        ),
    )
    index.add(
        "torchaudio",
        File("torchaudio-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl", wheel(metadata("torchaudio", "2.11.0"))),
    )
    index.add(
        "cuda-toolkit",
        toolkit("12.5.0", "nvidia-cublas-cu12==12.5.2.13.*", "nvidia-npp-cu12==12.3.0.116.*"),
        toolkit("12.5.1", "nvidia-cublas-cu12==12.5.2.13.*", "nvidia-npp-cu12==12.3.0.116.*"),
        toolkit(
            "13.0.3.0",
            "nvidia-cublas==13.1.1.3.* all cublas",
            "nvidia-cuda-runtime==13.0.96.* all cudart",
            "nvidia-nvjitlink<14,>=13.0.88 all cublas",
        ),
        toolkit("13.1.0rc1", "nvidia-cublas==0"),
        File("cuda_toolkit-0.0.0a0.tar.gz", b""),
    )
    runpath = "$ORIGIN/:$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../nvidia/cudnn/lib:$ORIGIN/../nvidia/cublas/lib"
    gpu = tensorflow("2.18.0", "12.5.1", *TENSORFLOW_2_18, runpath=runpath, arch="sm_60 sm_89 compute_90")
    index.add(
        "tensorflow",
        File(
            "tensorflow-2.18.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", gpu, "2024-10-25", ">=3.9"
        ),
        File(
            "tensorflow-2.18.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            gpu + b" ",
            "2024-10-25",
            ">=3.9",
        ),
        File(
            "tensorflow-2.18.0-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
            tensorflow("2.18.0", None),
            "2024-10-25",
        ),
        File(
            "tensorflow-2.12.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            tensorflow("2.12.0", "11.8", "numpy<1.24,>=1.22", arch="sm_35 compute_80"),
            "2023-03-22",
        ),
        File(
            "tensorflow-2.12.0-cp311-cp311-manylinux2014_aarch64.whl",
            wheel(metadata("tensorflow", "2.12.0")),
            "2023-03-22",
        ),
    )
    volta = cudnn("9.10.2.21", fat_binary(70, 75), fat_binary(50, 60, 90, ptx=30))
    index.add(
        "nvidia-cudnn-cu12",
        File("nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_x86_64.whl", volta),
        File("nvidia_cudnn_cu12-9.10.2.21-py3-none-manylinux_2_27_aarch64.whl", volta + b" "),
        File("nvidia_cudnn_cu12-9.27.0.34.dev68493404-py3-none-manylinux_2_27_x86_64.whl", b""),
    )
    turing = cudnn("9.24.0.43", fat_binary(75, 100, 121))
    index.add(
        "nvidia-cudnn-cu13", File("nvidia_cudnn_cu13-9.24.0.43-py3-none-manylinux_2_27_x86_64.whl", turing, yanked=True)
    )
    index.add("nvidia-cudnn-cu11", File("nvidia_cudnn_cu11-8.9.6.50-py3-none-win_amd64.whl", b""))


def add_2_14(index: FakeIndex) -> None:
    """The release that appears."""
    gpu = torch("2.14.0", "13.0", *TORCH_2_14, arch="sm_75 sm_120")
    index.add(
        "torch",
        File("torch-2.14.0-cp311-cp311-manylinux_2_28_x86_64.whl", gpu),
        File(
            "torch-2.14.0-cp311-cp311-manylinux_2_28_aarch64.whl",
            torch("2.14.0", "13.0", *TORCH_2_14, arch="sm_80 sm_110"),
        ),
    )
