import { expect, it } from "vitest"
import { type Child, runProgram } from "./child.ts"

async function startStopper(mode: string): Promise<Child> {
  const child = runProgram("stopper.ts", [mode])
  expect(await child.line()).toBe("ready")
  return child
}

it("stops in order at SIGTERM and at SIGINT", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const child = await startStopper("stops")
    child.kill(signal)
    // There is no load balancer to wait for at a terminal.
    const drained = signal === "SIGTERM" ? "draining\n" : ""
    expect(await child.ended).toEqual({ code: 0, output: `ready\n${drained}stopping\nstopped\n` })
  }
})

it("ends immediately at a second signal during the drain", async () => {
  const child = await startStopper("drains")
  child.kill("SIGTERM")
  expect(await child.line()).toBe("draining")
  child.kill("SIGINT")
  expect((await child.ended).code).toBe(1)
})

it("ends immediately at a second signal", async () => {
  const child = await startStopper("stuck")
  child.kill("SIGINT")
  expect(await child.line()).toBe("stopping")
  child.kill("SIGTERM")
  expect((await child.ended).code).toBe(1)
})

it("ends after nine seconds, and reports the interruption", async () => {
  const child = await startStopper("late")
  child.kill("SIGTERM")
  const { code, output } = await child.ended
  expect(code).toBe(1)
  expect(output).toContain("still running after 9 seconds")
})

it("ends with 1 and prints the reason if stopping fails", async () => {
  const child = await startStopper("fails")
  child.kill("SIGTERM")
  const { code, output } = await child.ended
  expect(code).toBe(1)
  expect(output).toContain("the disk failed")
})
