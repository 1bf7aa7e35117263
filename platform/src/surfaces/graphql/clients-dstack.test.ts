/** The documents that dstack sends for Pods and clusters: commas between fields, a command as JSON in a text, and messages it compares. */
import { expect, test } from "vitest";
import { ask } from "../../../tests/graphql.ts";
import { refused, told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const DOCKER_ARGS = '{\\"cmd\\":[\\"echo \\\\\\"hi\\\\\\"\\"],\\"entrypoint\\":[\\"/bin/sh\\",\\"-c\\"]}';

const create = (registry: string) => `
  mutation {
    podFindAndDeployOnDemand(
      input: {
        name: "run-0-0", imageName: "host:/app", cloudType: SECURE, startSsh: true, gpuTypeId: "NVIDIA A40", supportPublicIp: true,
        dataCenterId: "EU-RO-1", minCudaVersion: "12.4", gpuCount: 1, volumeInGb: 0, containerDiskInGb: 100, minVcpuCount: 2,
        minMemoryInGb: 8, dockerArgs: "${DOCKER_ARGS}", ports: "10022/tcp", volumeMountPath: "/runpod-volume",
        containerRegistryAuthId: "${registry}"
      }
    ) {
      id,
      lastStatusChange,
      imageName,
      machine {
        podHostId
      }
    }
  }`;

const poll = (id: string) => `
  query pod {
    pod(input: {podId: "${id}"}) {
      id, name, desiredStatus, imageName, containerDiskInGb, costPerHr, dockerArgs, env, gpuCount, machineId, memoryInGb, podType,
      ports, vcpuCount, volumeInGb, volumeMountPath, clusterIp,
      runtime { ports { ip, isIpPublic, privatePort, publicPort, type } },
      machine { gpuDisplayName, podHostId }
    }
  }`;

test("a GPU Pod: made, polled until it has its port, given other credentials, terminated twice", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { json: registry } = await world.call("POST", "/v2/registries", {
    body: { name: "r", username: "u", password: "p" },
  });
  const { podFindAndDeployOnDemand: made } = await told(world, create(registry.id));
  expect(made).toMatchObject({ lastStatusChange: expect.any(String), machine: { podHostId: expect.any(String) } });
  await world.settle();
  const { pod } = await told(world, poll(made.id));
  expect(JSON.parse(pod.dockerArgs)).toEqual({ cmd: ['echo "hi"'], entrypoint: ["/bin/sh", "-c"] });
  expect(pod).toMatchObject({
    clusterIp: null,
    runtime: { ports: [{ ip: "203.0.113.5", privatePort: 10022, publicPort: expect.any(Number) }] },
  });
  expect(world.running()[0]!.spec).toMatchObject({ entrypoint: ["/bin/sh", "-c"], cmd: ['echo "hi"'] });

  const edit = `mutation { podEditJob(input: { podId: "${made.id}", containerRegistryAuthId: "${registry.id}" }) { id } }`;
  expect(await told(world, edit)).toEqual({ podEditJob: { id: made.id } });

  const terminate = `mutation { podTerminate(input: {podId: "${made.id}"}) }`;
  expect(await told(world, terminate)).toEqual({ podTerminate: null });
  expect(await refused(world, terminate)).toMatchObject({ message: "pod not found to terminate" });
  expect((await told(world, poll(made.id))).pod).toBeNull();
});

test("a CPU Pod up to a price", async () => {
  await using world = await setupPods();
  const cpu = (cost: number) => `
    mutation {
      deployCpuPod(
        input: {
          name: "run-1-0", imageName: "host:/app", instanceId: "cpu3c-2-4", cloudType: SECURE, deployCost: ${cost}, startSsh: true,
          dataCenterId: "EU-RO-1", containerDiskInGb: 10, dockerArgs: "", ports: "10022/tcp", volumeMountPath: "/runpod-volume"
        }
      ) { id, lastStatusChange, imageName, machine { podHostId } }
    }`;
  expect((await refused(world, cpu(0.01))).message).toContain("no longer any instances available");
  expect((await told(world, cpu(0.06))).deployCpuPod).toMatchObject({ imageName: "host:/app" });
});

test("without room it is told the message that it knows", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const two = create("").replace("gpuCount: 1", "gpuCount: 2");
  await told(world, two);
  const { json } = await ask(world, two.replace("run-0-0", "run-0-1"));
  expect(json.data).toEqual({ podFindAndDeployOnDemand: null });
  expect(json.errors[0]).toMatchObject({
    message: expect.stringContaining("There are no longer any instances available with the requested specifications."),
    extensions: { code: "SUPPLY_CONSTRAINT" },
    path: ["podFindAndDeployOnDemand"],
  });
});

const cluster = (cost: string) => `
  mutation {
    createCluster(
      input: {
        clusterName: "train", gpuTypeId: "NVIDIA A40", podCount: 2, imageName: "host:/app", type: TRAINING, gpuCountPerPod: 1,
        ${cost} dataCenterId: "EU-RO-1", containerDiskInGb: 20, dockerArgs: "${DOCKER_ARGS}",
        env: [{ key: "A", value: "b" }], volumeMountPath: "/runpod-volume", ports: "10022/tcp"
      }
    ) {
      id
      name
      pods { id, clusterIp, lastStatusChange, imageName, machine { podHostId } }
    }
  }`;

test("a cluster up to a price for all of it, and its deletion", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  expect((await refused(world, cluster(""))).message).toContain("insufficient resources");
  const { createCluster: made } = await told(world, cluster("deployCost: 100.0,"));
  expect(made).toMatchObject({ name: "train", pods: [{ imageName: "host:/app" }, { imageName: "host:/app" }] });
  await world.settle();
  expect((await told(world, poll(made.pods[1].id))).pod.clusterIp).toMatch(/^10\./);

  const remove = `mutation { deleteCluster(input: {id: "${made.id}"}) }`;
  expect(await told(world, remove)).toEqual({ deleteCluster: true });
  expect((await refused(world, remove)).extensions.code).toBe("Cluster not found");
});
