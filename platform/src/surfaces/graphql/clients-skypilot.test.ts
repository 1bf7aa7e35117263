/** The documents that SkyPilot sends for Pods and templates, in addition to those it takes from runpod-python. */
import { expect, test } from "vitest";
import { told } from "../../../tests/graphql-calls.ts";
import { setupPods, TWO_GPUS } from "../../../tests/pod-world.ts";

const SPOT = `
  mutation {
    podRentInterruptable(
      input: {
        name: "sky-1-head", imageName: "host:/app", gpuTypeId: "NVIDIA A40", bidPerGpu: 0.35, volumeMountPath: "/runpod-volume",
        cloudType: SECURE, startSsh: true, startJupyter: false, supportPublicIp: true, gpuCount: 1, minMemoryInGb: 8,
        minVcpuCount: 2, containerDiskInGb: 40, volumeInGb: 0, ports: "22/tcp,8080/http,8266/http",
        dockerArgs: "bash -c 'echo \\"ssh-rsa AAAA\\" > keys; sleep infinity'", dataCenterId: "EU-RO-1", countryCode: "RO",
        env: [{ key: "SKY", value: "1" }]
      }
    ) {
      id
      desiredStatus
      imageName
      env
      machineId
      machine {
        podHostId
      }
    }
  }`;

const NODES = `
  query Pods {
    myself {
      pods {
        id containerDiskInGb containerRegistryAuthId costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName
        lastStatusChange machineId memoryInGb name podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath
        runtime { ports { ip, isIpPublic, privatePort, publicPort, type } }
        machine { gpuDisplayName }
      }
    }
  }`;

const MAPPED = ["CREATED", "RESTARTING", "PAUSED", "RUNNING"];

interface Port {
  ip: string;
  isIpPublic: boolean;
  privatePort: number;
}

test("a spot node is ready by its public port 22, has an inner address, and vanishes when it is terminated", async () => {
  await using world = await setupPods({ machine: TWO_GPUS });
  const { podRentInterruptable: made } = await told(world, SPOT);
  expect(made).toMatchObject({ desiredStatus: "RUNNING", env: ["SKY=1"], machine: { podHostId: expect.any(String) } });
  const [starting] = (await told(world, NODES)).myself.pods;
  expect(MAPPED).toContain(starting.desiredStatus);
  await world.settle();
  const [node] = (await told(world, NODES)).myself.pods;
  const ports = node.runtime.ports as Port[];
  expect(ports.find(({ privatePort, isIpPublic }) => privatePort === 22 && isIpPublic)?.ip).toBe("203.0.113.5");
  expect(ports.find(({ isIpPublic }) => !isIpPublic)?.ip).toEqual(expect.any(String));
  await told(world, `mutation { podTerminate(input: { podId: "${made.id}" }) }`);
  expect((await told(world, NODES)).myself.pods).toEqual([]);
});

test("the template of a private image is found by its name, and deleted by it", async () => {
  await using world = await setupPods();
  const { json: registry } = await world.call("POST", "/v2/registries", {
    body: { name: "sky-auth", username: "u", password: "p" },
  });
  const save = `mutation { saveTemplate( input: {
    name: "sky-template", imageName: "registry.test/private", dockerArgs: "", containerDiskInGb: 10, volumeInGb: 0, ports: "",
    env: [], isServerless: false, containerRegistryAuthId : "${registry.id}", startSsh: true, isPublic: false, readme: ""
  } ) { id name } }`;
  await told(world, save);
  const list = "query Query { myself { podTemplates { name containerRegistryAuthId } } }";
  expect((await told(world, list)).myself.podTemplates).toEqual([
    { name: "sky-template", containerRegistryAuthId: registry.id },
  ]);
  expect(await told(world, `mutation { deleteTemplate(templateName: "sky-template") }`)).toEqual({
    deleteTemplate: null,
  });
  expect((await told(world, list)).myself.podTemplates).toEqual([]);
});

test("nodes of one name are made where an installation lets them", async () => {
  await using world = await setupPods({ machine: TWO_GPUS, uniqueNames: false });
  await told(world, SPOT);
  await told(world, SPOT);
  const { pods } = (await told(world, NODES)).myself;
  expect(pods.map(({ name }: { name: string }) => name)).toEqual(["sky-1-head", "sky-1-head"]);
});
