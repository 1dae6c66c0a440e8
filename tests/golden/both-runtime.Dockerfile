# pytorch2.7.1-tensorflow2.20.0-cuda12.6-cudnn9.5-py3.12-ubuntu24.04-runtime
# Rendered by `python build.py render` from matrix.yaml and templates/. Do not edit: change those and render again.
ARG BASE=nvidia/cuda:12.6.3-base-ubuntu24.04
ARG TOOLS=ghcr.io/astral-sh/uv:0.13.9

FROM ${TOOLS} AS tools

# Each layer's share of the lock, so that a change in one leaves the others cached.
FROM ${BASE} AS locks
COPY requirements.lock /locks/
RUN : "lock of CUDA libraries"; mkdir /locks/1-cuda-libraries && grep -E \
    '^(nvidia-cublas-cu12|nvidia-cudnn-cu12|nvidia-nccl-cu12)==' \
    /locks/requirements.lock > /locks/1-cuda-libraries/requirements.lock
RUN : "lock of packages"; mkdir /locks/2-packages && grep -E \
    '^(filelock|numpy|pip)==' \
    /locks/requirements.lock > /locks/2-packages/requirements.lock
RUN : "lock of framework"; mkdir /locks/3-framework && grep -E \
    '^(tensorflow|torch|triton)==' \
    /locks/requirements.lock > /locks/3-framework/requirements.lock

FROM ${BASE}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ENV LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64

# The wheels bring their own CUDA runtime: the base's would be a second copy.
RUN : "one CUDA runtime"; rm -f /usr/local/cuda*/targets/*/lib/libcudart.so*
RUN --mount=type=bind,from=tools,target=/mnt \
    : "packages of the distribution"; \
    if dpkg-query --show ca-certificates gcc libc6-dev libpython3.12-dev python3.12 > /dev/null 2>&1; then exit 0; fi; \
    export DEBIAN_FRONTEND=noninteractive; \
    echo 'Acquire::Retries "3";' > /etc/apt/apt.conf.d/99cubake; \
    if [ -s /mnt/ca.pem ]; then echo 'Acquire::https::CAInfo "/mnt/ca.pem";' >> /etc/apt/apt.conf.d/99cubake; fi; \
    rm -f /etc/apt/sources.list.d/cuda*; \
    apt-get update; \
    apt-get install -y --no-install-recommends ca-certificates gcc libc6-dev libpython3.12-dev python3.12; \
    apt-get clean; \
    rm -rf /etc/apt/apt.conf.d/99cubake /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log /var/log/alternatives.log /var/cache/ldconfig/aux-cache
ENV VIRTUAL_ENV=/opt/venv \
    PATH=/opt/venv/bin:${PATH}
RUN --mount=type=bind,from=tools,target=/mnt \
    : "virtual environment"; \
    /mnt/uv venv --quiet --no-cache --no-config --python /usr/bin/python3.12 /opt/venv
ARG INDEX_URL=
ARG EXTRA_INDEX_URLS=

RUN --mount=type=bind,from=tools,target=/mnt \
    --mount=type=bind,from=locks,source=/locks/1-cuda-libraries,target=/media \
    --mount=type=cache,id=cubake-uv,target=/root/.cache \
    : "CUDA libraries: 0.1 MB of wheels"; \
    if [ -s /mnt/ca.pem ]; then export SSL_CERT_FILE=/mnt/ca.pem; fi; \
    if [ -n "${INDEX_URL}" ]; then export UV_DEFAULT_INDEX="${INDEX_URL}"; fi; \
    export UV_INDEX="${EXTRA_INDEX_URLS}" UV_LINK_MODE=copy UV_CACHE_DIR=/root/.cache/uv UV_HTTP_TIMEOUT=300; \
    /mnt/uv pip install --no-config --no-deps --require-hashes --only-binary :all: --compile-bytecode \
    -r /media/requirements.lock

RUN --mount=type=bind,from=tools,target=/mnt \
    --mount=type=bind,from=locks,source=/locks/2-packages,target=/media \
    --mount=type=cache,id=cubake-uv,target=/root/.cache \
    : "packages: 0.0 MB of wheels"; \
    if [ -s /mnt/ca.pem ]; then export SSL_CERT_FILE=/mnt/ca.pem; fi; \
    if [ -n "${INDEX_URL}" ]; then export UV_DEFAULT_INDEX="${INDEX_URL}"; fi; \
    export UV_INDEX="${EXTRA_INDEX_URLS}" UV_LINK_MODE=copy UV_CACHE_DIR=/root/.cache/uv UV_HTTP_TIMEOUT=300; \
    /mnt/uv pip install --no-config --no-deps --require-hashes --only-binary :all: --compile-bytecode \
    -r /media/requirements.lock

RUN --mount=type=bind,from=tools,target=/mnt \
    --mount=type=bind,from=locks,source=/locks/3-framework,target=/media \
    --mount=type=cache,id=cubake-uv,target=/root/.cache \
    : "framework: 0.0 MB of wheels"; \
    if [ -s /mnt/ca.pem ]; then export SSL_CERT_FILE=/mnt/ca.pem; fi; \
    if [ -n "${INDEX_URL}" ]; then export UV_DEFAULT_INDEX="${INDEX_URL}"; fi; \
    export UV_INDEX="${EXTRA_INDEX_URLS}" UV_LINK_MODE=copy UV_CACHE_DIR=/root/.cache/uv UV_HTTP_TIMEOUT=300; \
    /mnt/uv pip install --no-config --no-deps --require-hashes --only-binary :all: --compile-bytecode \
    -r /media/requirements.lock

# Wheels find each other by RUNPATH, with gaps (TensorFlow 2.21 lists no cuSOLVER): let the loader know the one set.
RUN : "loader configuration"; find /opt/venv/lib/python3.12/site-packages/nvidia -mindepth 2 -maxdepth 2 -type d -name lib | sort > /etc/ld.so.conf.d/000-cubake.conf \
    && ldconfig && rm -f /var/cache/ldconfig/aux-cache

# A user id without an account has no name and no home. torch.compile asks for the name (Python's getpass, which looks at
# LNAME after LOGNAME and USER) and puts its caches by it, Triton under the home.
ENV LNAME=cubake \
    TORCHINDUCTOR_CACHE_DIR=/tmp/torchinductor \
    TRITON_CACHE_DIR=/tmp/triton
# XLA looks for ptxas on PATH; the wheel that brings it does not put it there.
ENV PATH=${PATH}:/opt/venv/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin


WORKDIR /workspace
ENTRYPOINT []
CMD ["/bin/bash"]
LABEL io.cubake.cuda="12.6" \
      io.cubake.cudnn="9.5.1.17" \
      io.cubake.driver.library_floor="525.60.13" \
      io.cubake.flavor="runtime" \
      io.cubake.name="pytorch2.7.1-tensorflow2.20.0-cuda12.6-cudnn9.5-py3.12-ubuntu24.04-runtime" \
      io.cubake.os="ubuntu24.04" \
      io.cubake.profile="prod" \
      io.cubake.python="3.12" \
      io.cubake.pytorch="2.7.1" \
      io.cubake.tensorflow="2.20.0" \
      org.opencontainers.image.title="pytorch 2.7.1, tensorflow 2.20.0, CUDA 12.6, Python 3.12 on ubuntu24.04" \
      org.opencontainers.image.version="pytorch2.7.1-tensorflow2.20.0-cuda12.6-cudnn9.5-py3.12-ubuntu24.04-runtime"
