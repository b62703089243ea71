import { setImmediate as nextTurn } from "node:timers/promises"
import { type Cx, type Statement, statement } from "../../store/index.ts"

/** A row of a table; `created` is in ms since the epoch. */
type ListRow = { readonly id: string; readonly created: number }

/** The number of rows to read at once. */
const pageSize = 500
/** The number of rows to process before other tasks run, even if they yield nothing. */
const rowsPerTurn = 20

/**
 * The rows of an organization in a table, oldest first; each part continues after the previous one.
 */
const ofOrg = (table: string, condition = "TRUE"): Statement<ListRow> =>
  statement(
    `SELECT id, created FROM ${table}
     WHERE instance = $instance AND org = $orgId AND ${condition}
       AND (created, id) > ($created, $after)
     ORDER BY created, id LIMIT $limit`,
  )

const lists = {
  people: ofOrg("users", "kind = 'human'"),
  machines: ofOrg("users", "kind = 'machine'"),
  projects: ofOrg("projects"),
  apis: ofOrg("apps", "kind = 'api'"),
  clients: ofOrg("apps", "kind = 'oidc'"),
  actions: ofOrg("actions"),
  projectGrants: ofOrg("project_grants"),
  authorizations: ofOrg("authorizations"),
} as const

/** The IDs of an organization's resources of a kind; yields to other tasks in between. */
export async function* idsIn(
  cx: Cx,
  list: keyof typeof lists,
  orgId: string,
): AsyncGenerator<string> {
  let from: ListRow = { id: "", created: 0 }
  for (;;) {
    const { created, id: after } = from
    const rows = cx.store.all(cx, lists[list], { orgId, created, after, limit: pageSize })
    for (const [at, { id }] of rows.entries()) {
      if (at % rowsPerTurn === 0) await nextTurn()
      yield id
    }
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    from = last
  }
}

const everyOrg = statement<{ id: string }>(
  "SELECT id FROM orgs WHERE instance = $instance ORDER BY created, id",
)

/** The IDs of all organizations, oldest first. */
export const orgIds = (cx: Cx): readonly string[] => cx.store.all(cx, everyOrg).map(({ id }) => id)

/** The roles of a user on a resource; `roles` has the form "|A|B|". */
type MemberRow = {
  readonly id: string
  readonly target: string
  readonly project: string
  readonly user_id: string
  readonly roles: string
}

const members = statement<MemberRow>(
  `SELECT id, target, project, user_id, roles FROM administrators
   WHERE instance = $instance AND org = $orgId AND level = $level AND id > $after
   ORDER BY id LIMIT $limit`,
)

/** The members of an organization, of its projects, or of its received project grants. */
export function* membersIn(
  cx: Cx,
  level: "org" | "project" | "grant",
  orgId: string,
): Generator<MemberRow> {
  let after = ""
  for (;;) {
    const rows = cx.store.all(cx, members, { orgId, level, after, limit: pageSize })
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last.id
  }
}

/** A project role. */
type RoleRow = {
  readonly role_key: string
  readonly display_name: string
  readonly role_group: string
}

const roles = statement<RoleRow>(
  `SELECT role_key, display_name, role_group FROM project_roles
   WHERE instance = $instance AND project = $projectId ORDER BY role_key`,
)

export const rolesIn = (cx: Cx, projectId: string): readonly RoleRow[] =>
  cx.store.all(cx, roles, { projectId })

/** A public key in PEM; `expires` is in ms since the epoch. */
type KeyRow = { readonly id: string; readonly publicKey: string; readonly expires: number }

const machineKeys = statement<KeyRow>(
  `SELECT key_id AS id, public_key AS publicKey, expires FROM user_keys
   WHERE instance = $instance AND user_id = $owner ORDER BY key_id`,
)
const appKeys = statement<KeyRow>(
  `SELECT id, public_key AS publicKey, expires FROM app_keys
   WHERE instance = $instance AND app = $owner ORDER BY id`,
)

export const machineKeysOf = (cx: Cx, owner: string): readonly KeyRow[] =>
  cx.store.all(cx, machineKeys, { owner })

export const appKeysOf = (cx: Cx, owner: string): readonly KeyRow[] =>
  cx.store.all(cx, appKeys, { owner })
