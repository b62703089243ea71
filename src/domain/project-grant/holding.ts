import {
  type Envelope,
  integer,
  type RowOf,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import { type ProjectEvent, type ProjectRow, projectTable } from "../project/index.ts"
import type { ProjectGrantEvent, ProjectGrantStatus } from "./model.ts"

const holdingTable = table(
  "project_holdings",
  {
    id: text(),
    project: text(),
    own_project: text(),
    /** Empty if the holder owns the project. */
    grant_id: text(),
    grant_state: text<ProjectGrantStatus>(),
    /** The organization that owns the project or was granted it. */
    holder: text(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      project: ["project"],
      own: ["own_project"],
      grant: ["grant_id"],
      holder: ["holder", "created"],
      created: ["created"],
      changed: ["changed"],
    },
  },
)

/**
 * A project of one organization, owned or granted. For a grant, `created` and `changed` are those
 * of the grant, so that a list sorted by time grows only at its end.
 */
export type HoldingRow = RowOf<typeof holdingTable> &
  Omit<ProjectRow, "version"> & { readonly holder_name: string }

const ownedHoldingId = (projectId: string) => `own/${projectId}`
const grantedHoldingId = (grantId: string) => `via/${grantId}`

const touchHolding = (db: ViewWriter, { id, time }: Envelope) =>
  holdingTable.update(db, { id: ownedHoldingId(id) }, { changed: time })

const updateHolding = (db: ViewWriter, { id, time }: Envelope, state?: ProjectGrantStatus) =>
  holdingTable.update(db, { id: grantedHoldingId(id) }, { grant_state: state, changed: time })

export const holdingView = view<ProjectGrantEvent | ProjectEvent>({
  name: "project_holding",
  tables: [holdingTable],
  on: {
    "project.added": (db, { id, owner, time }) =>
      holdingTable.insert(db, {
        id: ownedHoldingId(id),
        project: id,
        own_project: id,
        grant_id: "",
        grant_state: "active",
        holder: owner,
        created: time,
        changed: time,
      }),
    "project.changed": touchHolding,
    "project.deactivated": touchHolding,
    "project.reactivated": touchHolding,
    "project.role.added": touchHolding,
    "project.role.changed": touchHolding,
    "project.role.removed": touchHolding,
    "project.removed": (db, { id: project }) => holdingTable.remove(db, { project }),
    "project.grant.added": (db, { id, data: { projectId, grantedOrgId }, time }) =>
      holdingTable.insert(db, {
        id: grantedHoldingId(id),
        project: projectId,
        own_project: "",
        grant_id: id,
        grant_state: "active",
        holder: grantedOrgId,
        created: time,
        changed: time,
      }),
    "project.grant.changed": (db, event) => updateHolding(db, event),
    "project.grant.deactivated": (db, event) => updateHolding(db, event, "inactive"),
    "project.grant.reactivated": (db, event) => updateHolding(db, event, "active"),
    "project.grant.removed": (db, { id }) => holdingTable.remove(db, { id: grantedHoldingId(id) }),
  },
})

/** The project's own columns are stored in its table only, so listing joins them. */
export const holdings = holdingTable.searchable({
  columns: ["project", "holder", "grant_id", "created", "changed"],
  joined: {
    select: `coalesce(o.name, '') AS holder_name, p.org, p.name, p.name_folded, p.state,
      p.role_assertion, p.role_check, p.has_project_check, p.private_labeling, p.groups_claim`,
    from: `JOIN projects p ON p.instance = t.instance AND p.id = t.project
      LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.holder`,
    columns: ["name", "name_folded"],
  },
  names: ["name"],
  owner: { org: "holder", project: "own_project", grant: "grant_id" },
  key: "id",
  sort: "created",
  decode: projectTable.decode,
})
