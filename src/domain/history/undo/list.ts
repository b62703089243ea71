import type { AnyAggregate, Cx } from "../../../store/index.ts"
import {
  actions,
  executions,
  flowTable,
  idpTable,
  messageProviderTable,
  targets,
} from "../binding/v2-undo-extension.ts"
import { featureTable, instances, restrictionTable } from "../binding/v2-undo-instance.ts"
import { members, orgs, roles } from "../binding/v2-undo-org.ts"
import { generatorTable, policyTable } from "../binding/v2-undo-policy.ts"
import { apps, authorizations, projectGrants, projects } from "../binding/v2-undo-project.ts"
import { groups, groupUsers, users } from "../binding/v2-undo-user.ts"
import type { Reason, Undoing } from "./way.ts"

/** What takes back the changes of each kind of things. */
const tables: readonly Undoing[] = [
  ...[
    instances,
    restrictionTable,
    featureTable,
    policyTable,
    generatorTable,
    idpTable,
    messageProviderTable,
  ],
  ...[orgs, users, projects, projectGrants, apps, members, roles, groups, groupUsers],
  ...[authorizations, targets, executions, actions, flowTable],
]

/** Kinds no change of which has an undo, by their streams. */
const never: Readonly<Record<string, Reason>> = {
  quota: "operator",
  limits: "operator",
  web_key: "keys",
  key_pair: "keys",
  customtext: "texts",
  message_provider_secret: "secret",
  idp_secret: "secret",
  idp_metadata: "settings",
  sign_up_link: "secret",
  milestone: "fact",
}

/** What takes back an event of a kind; undefined where the table says nothing of it. */
export const wayOf = (
  { stream }: AnyAggregate,
  type: string,
): Undoing["ways"][string] | undefined =>
  tables.find(({ kind }) => kind.stream === stream)?.ways[type] ?? never[stream]

/** Every type of event that is kept, and of what kind it is. */
export const keptTypes = ({ store }: Pick<Cx, "store">) =>
  store.eventTypes().streams.flatMap((stream) => {
    const kind = store.kind(stream)
    if (kind?.retention !== "forever") return []
    return Object.keys(kind.evolve).map((type) => ({ kind, type }))
  })
