// Three nodes behind a proxy, with failures under load: the history checker finds no error.
import { readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { temporaryFolder } from "../support/latchkey.ts"
import { call } from "../support/load.ts"
import { needs } from "../support/prerequisite.ts"
import { type Cluster, openCluster } from "./nodes/cluster.ts"
import { type Failure, failures, loseLatestEvents } from "./nodes/failure.ts"
import { runTrial } from "./nodes/trial.ts"

describe.runIf(needs("postgres"))("three nodes behind a proxy", () => {
  const folder = temporaryFolder()
  let cluster: Cluster
  beforeAll(async () => {
    cluster = await openCluster(folder.path)
  })
  afterAll(async () => {
    await cluster.stop()
    folder.remove()
  })

  test("lose nothing and return no stale data, whatever fails", async () => {
    const each = Object.entries<Failure>(failures)
    const plan = { writers: 4, readers: 8 }
    const { complaints, figures } = await runTrial(cluster, {
      ...plan,
      troubles: each.map(([name, trouble]) => [name, trouble, 700] as const),
    })
    expect(complaints).toEqual([])
    expect(figures.writes).toBeGreaterThan(20)
    expect(figures.reads).toBeGreaterThan(40)
    expect(figures.tries).toBeGreaterThan(20)
  })

  test("stop answering with events that the database lost, until they are emptied", async () => {
    const { client, nodes } = cluster
    const { orgId: organizationId } = client
    const made = (name: string) => call(client, "project.CreateProject", { organizationId, name })
    const { projectId: kept } = (await made("kept")).body
    let lost: unknown
    await loseLatestEvents(cluster, async () => {
      lost = (await made("lost")).body.projectId
      expect(lost).toBeDefined()
      // Every node has it.
      for (const _ of nodes) await call(client, "project.GetProject", { projectId: lost })
    })
    for (const node of nodes) {
      await expect
        .poll(() => node.ask("/debug/ready").then((answer) => answer?.text()))
        .toMatch(/it has lost some.*start with an empty data directory/)
    }
    expect((await call(client, "project.GetProject", { projectId: kept })).status).toBe(503)
    for (const node of nodes) {
      await node.running().stop()
      for (const file of readdirSync(node.data)) {
        if (file !== "latchkey.toml") rmSync(join(node.data, file), { recursive: true })
      }
      await node.start()
    }
    await cluster.ready()
    for (const _ of nodes) {
      expect((await call(client, "project.GetProject", { projectId: kept })).status).toBe(200)
      expect((await call(client, "project.GetProject", { projectId: lost })).status).toBe(404)
    }
  })
})
