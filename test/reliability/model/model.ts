// Callers that create, change, remove and list at random, each with a simple model in memory: an
// acknowledged change is in the next response, in every encoding.
import type { JsonObject } from "@bufbuild/protobuf"
import { openTestServer, type TestServer } from "../../scenario/house.ts"
import { requireMethod } from "../../scenario/run.ts"
import { closeConnections, encodingsOf } from "../../scenario/ways.ts"

export type Outcome = {
  readonly steps: number
  readonly calls: number
  readonly complaints: readonly string[]
}

type ModelEntry = { name: string; readonly parentId: string; active: boolean }
type Kind = "org" | "user" | "project" | "role" | "app"
type Model = Readonly<Record<Kind, Map<string, ModelEntry>>>

type Caller = {
  readonly model: Model
  /** A number below `end`, the same in every run with a seed. */
  readonly below: (end: number) => number
  readonly ask: (call: string, body: JsonObject) => Promise<any>
  readonly label: string
  count: number
}

/**
 * Runs the given number of steps, spread over the callers; a step is one change and the lists that
 * show it.
 */
export async function runModel(steps: number, callers: number, seed: number): Promise<Outcome> {
  const house = await openTestServer()
  const complaints: string[] = []
  let calls = 0
  let left = steps
  const live = async (label: string, below: Caller["below"]) => {
    const ask: Caller["ask"] = (call, body) => {
      calls++
      return callRandomly(house, below, { call, body })
    }
    const caller: Caller = { model: emptyModel(), below, ask, label, count: 0 }
    while (left-- > 0 && complaints.length < 10) {
      const did = await step(caller)
      const wrong = await compare(caller, did)
      if (wrong) complaints.push(`${label}, after ${did.what} (seed ${seed}): ${wrong}`)
    }
  }
  try {
    const all = Array.from({ length: callers }, (_, at) =>
      live(`c${at}`, createGenerator(seed + at)),
    )
    await Promise.all(all)
  } finally {
    closeConnections()
    await house.close()
  }
  return { steps, calls, complaints }
}

const emptyModel = (): Model => ({
  org: new Map(),
  user: new Map(),
  project: new Map(),
  role: new Map(),
  app: new Map(),
})

/**
 * A reproducible generator: a 32-bit linear congruential generator, of which the top bits are used.
 */
function createGenerator(seed: number): Caller["below"] {
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0
  return (end) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * end)
  }
}

/** Calls as the owner of the instance, in a random encoding of the operation. */
async function callRandomly(
  house: TestServer,
  below: Caller["below"],
  { call, body }: { readonly call: string; readonly body: JsonObject },
): Promise<any> {
  const method = requireMethod(call)
  const ways = encodingsOf(method)
  const [name, way] = ways[below(ways.length)] ?? []
  const { "x-core-orgid": orgId, ...rest } = body
  const headers = {
    ...house.headers,
    authorization: `Bearer user ${house.ownerId} ${house.orgId}`,
    ...(typeof orgId === "string" ? { "x-core-orgid": orgId } : {}),
  }
  const told = await way?.({ ...house, method, body: rest, headers })
  if (told?.code === "ok") return told.body
  throw new Error(`${call} by ${name} ended with ${told?.code} (${told?.id})`)
}

type StepResult = { readonly what: string; readonly kind: Kind; readonly within: string }

const kinds: readonly Kind[] = ["org", "user", "project", "role", "app"]
/** The parent of each kind. */
const parents = {
  org: undefined,
  user: "org",
  project: "org",
  role: "project",
  app: "project",
} as const

/** Performs one valid change, on the server and in the model. */
async function step(caller: Caller): Promise<StepResult> {
  const { model, below } = caller
  const kind = kinds[below(kinds.length)] ?? "user"
  const parent = parents[kind]
  const home = parent && pickEntry(caller, parent)
  if (parent && !home?.[1].active) return createEntry(caller, "org", "")
  const within = home?.[0] ?? ""
  const [id, thing] = pickEntry(caller, kind) ?? []
  if (!id || !thing || model[kind].size < 4 || below(10) < 4)
    return createEntry(caller, kind, within)
  if (below(10) < 4) return changeEntry(caller, kind, id, thing)
  if (kind !== "role" && below(2) === 0) return toggleEntry(caller, kind, id, thing)
  return removeEntry(caller, kind, id, thing)
}

/** An entry that can be changed: nothing inside a deactivated parent. */
function pickEntry(
  { model, below }: Caller,
  kind: Kind,
): readonly [string, ModelEntry] | undefined {
  const open = [...model[kind]].filter(([, { parentId: within }]) =>
    isChangeable(model, parents[kind], within),
  )
  return open[below(open.length)]
}

function isChangeable(model: Model, kind: Kind | undefined, id: string): boolean {
  if (!kind) return true
  const thing = model[kind].get(id)
  return thing?.active === true && isChangeable(model, parents[kind], thing.parentId)
}

const userService = "user.v2.UserService"
const orgService = "org.v2.OrganizationService"
const projectService = "project.v2.ProjectService"
const applicationService = "application.v2.ApplicationService"
const managementService = "management.v1.ManagementService"

async function createEntry(caller: Caller, kind: Kind, within: string): Promise<StepResult> {
  const { ask, model, label } = caller
  const name = `${label}-${kind}-${caller.count++}`
  const id = await create(caller, kind, { within, name, ask })
  model[kind].set(id, { name, parentId: within, active: true })
  return { what: `creating ${kind} ${name}`, kind, within }
}

type Creation = { readonly within: string; readonly name: string; readonly ask: Caller["ask"] }

async function create({ below }: Caller, kind: Kind, { within, name, ask }: Creation) {
  switch (kind) {
    case "org":
      return (await ask(`${orgService}/AddOrganization`, { name })).organizationId as string
    case "user": {
      const machine = { name }
      const body = { organizationId: within, username: name, machine }
      return (await ask(`${userService}/CreateUser`, body)).id as string
    }
    case "project":
      // The v1 API does the same, and has REST.
      if (below(2) === 0)
        return (await ask(`${managementService}/AddProject`, { name, ...inOrg(within) }))
          .id as string
      return (await ask(`${projectService}/CreateProject`, { organizationId: within, name }))
        .projectId as string
    case "role":
      await ask(`${projectService}/AddProjectRole`, {
        projectId: within,
        roleKey: name,
        displayName: name,
      })
      return `${within}/${name}`
    case "app": {
      const body = { projectId: within, name, apiConfiguration: {} }
      return (await ask(`${applicationService}/CreateApplication`, body)).applicationId as string
    }
  }
}

const inOrg = (orgId: string) => ({ "x-core-orgid": orgId })

async function changeEntry(
  caller: Caller,
  kind: Kind,
  id: string,
  entry: ModelEntry,
): Promise<StepResult> {
  const { ask } = caller
  const name = `${caller.label}-renamed-${caller.count++}`
  const { parentId: within } = entry
  if (kind === "org") await ask(`${orgService}/UpdateOrganization`, { organizationId: id, name })
  if (kind === "user") await ask(`${userService}/UpdateUser`, { userId: id, username: name })
  if (kind === "project") await ask(`${projectService}/UpdateProject`, { projectId: id, name })
  if (kind === "app") {
    await ask(`${applicationService}/UpdateApplication`, {
      applicationId: id,
      projectId: within,
      name,
    })
  }
  if (kind === "role") {
    const roleKey = id.split("/")[1] ?? ""
    await ask(`${projectService}/UpdateProjectRole`, {
      projectId: within,
      roleKey,
      displayName: name,
    })
  }
  entry.name = name
  return { what: `renaming ${kind} ${id} to ${name}`, kind, within }
}

/** Toggles between active and deactivated. */
async function toggleEntry(
  { ask }: Caller,
  kind: Exclude<Kind, "role">,
  id: string,
  entry: ModelEntry,
): Promise<StepResult> {
  const { parentId: within } = entry
  const call = {
    org: `${orgService}/${entry.active ? "Deactivate" : "Activate"}Organization`,
    user: `${userService}/${entry.active ? "Deactivate" : "Reactivate"}User`,
    project: `${projectService}/${entry.active ? "Deactivate" : "Activate"}Project`,
    app: `${applicationService}/${entry.active ? "Deactivate" : "Reactivate"}Application`,
  }[kind]
  await ask(call, idsOf(kind, id, within))
  entry.active = !entry.active
  return { what: `${call} ${id}`, kind, within }
}

function idsOf(kind: Kind, id: string, within: string): JsonObject {
  if (kind === "org") return { organizationId: id }
  if (kind === "user") return { userId: id }
  if (kind === "project") return { projectId: id }
  if (kind === "app") return { applicationId: id, projectId: within }
  return { projectId: within, roleKey: id.split("/")[1] ?? "" }
}

const removals = {
  org: `${orgService}/DeleteOrganization`,
  user: `${userService}/DeleteUser`,
  project: `${projectService}/DeleteProject`,
  role: `${projectService}/RemoveProjectRole`,
  app: `${applicationService}/DeleteApplication`,
} as const

async function removeEntry(
  caller: Caller,
  kind: Kind,
  id: string,
  entry: ModelEntry,
): Promise<StepResult> {
  await caller.ask(removals[kind], idsOf(kind, id, entry.parentId))
  forgetChildren(caller.model, kind, id)
  return { what: `removing ${kind} ${id}`, kind, within: entry.parentId }
}

/** Its children are removed with it. */
function forgetChildren(model: Model, kind: Kind, id: string): void {
  model[kind].delete(id)
  for (const inner of kinds.filter((each) => parents[each] === kind)) {
    for (const [each, { parentId: within }] of [...model[inner]])
      if (within === id) forgetChildren(model, inner, each)
  }
}

/** Lists the affected kind completely; returns the difference from the model. */
async function compare(caller: Caller, { kind, within }: StepResult): Promise<string | undefined> {
  const { rows, total } = await listEntries(caller, kind, within)
  const known = [...caller.model[kind]].filter(([, thing]) => thing.parentId === within)
  const expected = known.map(([id, { name, active }]) => formatEntry(id, name, active))
  const found = rows.sort().join("\n")
  if (found !== expected.sort().join("\n"))
    return `found\n${found}\nexpected\n${expected.join("\n")}`
  return total === expected.length ? undefined : `the total is ${total}, not ${expected.length}`
}

const formatEntry = (id: string, name: string, active: boolean) => `${id} ${name} ${active}`

type EntryList = { readonly rows: string[]; readonly total: number }

/** The maximum page size of the server. */
const pageSize = 1000
const totalOf = (answer: any) =>
  Number(answer.pagination?.totalResult ?? answer.details?.totalResult ?? 0)
const isActive = ({ state }: { readonly state: string }) => /_ACTIVE$/.test(state)

/** All entries, page by page. */
async function listEntries(caller: Caller, kind: Kind, within: string): Promise<EntryList> {
  const rows: string[] = []
  for (;;) {
    const page = await listPage(caller, kind, within, rows.length)
    rows.push(...page.rows)
    if (page.rows.length < pageSize) return { rows, total: page.total }
  }
}

async function listPage(
  { ask, label }: Caller,
  kind: Kind,
  within: string,
  offset: number,
): Promise<EntryList> {
  const pagination = { offset, limit: pageSize }
  switch (kind) {
    case "org": {
      const name = `${label}-`
      const nameQuery = { name, method: "TEXT_QUERY_METHOD_STARTS_WITH" }
      const body = { query: pagination, queries: [{ nameQuery }] }
      const answer = await ask(`${orgService}/ListOrganizations`, body)
      const rows = (answer.result ?? []).map((each: any) =>
        formatEntry(each.id, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "user": {
      const queries = [{ organizationIdQuery: { organizationId: within } }]
      const answer = await ask(`${userService}/ListUsers`, { query: pagination, queries })
      const rows = (answer.result ?? []).map((each: any) =>
        formatEntry(each.userId, each.username, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "project": {
      const filters = [{ organizationIdFilter: { organizationId: within, type: "OWNED" } }]
      const answer = await ask(`${projectService}/ListProjects`, { pagination, filters })
      const rows = (answer.projects ?? []).map((each: any) =>
        formatEntry(each.projectId, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
    case "role": {
      const answer = await ask(`${projectService}/ListProjectRoles`, {
        projectId: within,
        pagination,
      })
      const rows = (answer.projectRoles ?? []).map((each: any) =>
        formatEntry(`${within}/${each.key}`, each.displayName, true),
      )
      return { rows, total: totalOf(answer) }
    }
    case "app": {
      const filters = [{ projectIdFilter: { projectId: within } }]
      const answer = await ask(`${applicationService}/ListApplications`, { pagination, filters })
      const rows = (answer.applications ?? []).map((each: any) =>
        formatEntry(each.applicationId, each.name, isActive(each)),
      )
      return { rows, total: totalOf(answer) }
    }
  }
}
