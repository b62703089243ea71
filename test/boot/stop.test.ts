import { expect, it } from "vitest"
import { type Child, runProgram } from "./child.ts"

async function started(mode: string): Promise<Child> {
  const child = runProgram("stopper.ts", [mode])
  expect(await child.line()).toBe("ready")
  return child
}

it("stops in order at SIGTERM and at SIGINT", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const child = await started("stops")
    child.kill(signal)
    // Nobody at a terminal waits for a load balancer.
    const drained = signal === "SIGTERM" ? "draining\n" : ""
    expect(await child.ended).toEqual({ code: 0, output: `ready\n${drained}stopping\nstopped\n` })
  }
})

it("ends at once at a second signal while it drains", async () => {
  const child = await started("drains")
  child.kill("SIGTERM")
  expect(await child.line()).toBe("draining")
  child.kill("SIGINT")
  expect((await child.ended).code).toBe(1)
})

it("ends at once at a second signal", async () => {
  const child = await started("stuck")
  child.kill("SIGINT")
  expect(await child.line()).toBe("stopping")
  child.kill("SIGTERM")
  expect((await child.ended).code).toBe(1)
})

it("ends after nine seconds, and says that it cut something off", async () => {
  const child = await started("late")
  child.kill("SIGTERM")
  const { code, output } = await child.ended
  expect(code).toBe(1)
  expect(output).toContain("still running after 9 seconds")
})

it("ends with 1 and says why when stopping fails", async () => {
  const child = await started("fails")
  child.kill("SIGTERM")
  const { code, output } = await child.ended
  expect(code).toBe(1)
  expect(output).toContain("the disk is gone")
})
