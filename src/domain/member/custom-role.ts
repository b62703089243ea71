import { keptWith } from "../../kernel/lru.ts"
import { aggregate, type Cx, type Decision, type Event, partByKey } from "../../store/index.ts"
import type { Target } from "./model.ts"
import { roles as builtIn, type RoleLevel } from "./roles.ts"

type Given = {
  readonly key: string
  readonly displayName: string
  readonly level: Target["level"]
  readonly permissions: readonly string[]
}

export type RoleEvent =
  | Event<"role.added", Given>
  | Event<
      "role.changed",
      { readonly key: string } & Partial<Pick<Given, "displayName" | "permissions">>
    >
  | Event<"role.removed", { readonly key: string }>

/** A role that an instance made for itself; times are ms UTC. */
export type CustomRole = Given & { readonly created: number; readonly changed: number }

type CustomRoles = { readonly roles: Readonly<Record<string, CustomRole>> }

/** The roles of an instance beside the built-in ones; its id is that of the only stream. */
export const customRoles = aggregate<RoleEvent, CustomRoles>({
  stream: "role",
  part: partByKey("key"),
  initial: { roles: {} },
  evolve: {
    "role.added": ({ roles }, { data, time }) => ({
      roles: { ...roles, [data.key]: { ...data, created: time, changed: time } },
    }),
    "role.changed": (state, { data, time }) => {
      const known = customRole(state, data.key)
      if (!known) return state
      return { roles: { ...state.roles, [data.key]: { ...known, ...data, changed: time } } }
    },
    "role.removed": ({ roles }, { data }) => {
      const { [data.key]: _, ...others } = roles
      return { roles: others }
    },
  },
})

/** One of them; keys are callers' choice: "constructor" may be one. */
export const customRole = ({ roles }: CustomRoles, key: string): CustomRole | undefined =>
  Object.hasOwn(roles, key) ? roles[key] : undefined

/** What looks up states of streams and rows of views: a decision, or a query by `stateReader`. */
export type StateReader = Pick<Decision, "state" | "instance" | "rows">

/** Lets a query read as a decision does. */
export const stateReader = (cx: Pick<Cx, "store" | "instance">): StateReader => ({
  instance: cx.instance,
  state: (kind, id) => cx.store.state(cx, kind, id),
  rows: (query, values) => cx.store.all(cx, query, values),
})

/** Where a role can be held, and what it permits; undefined where it is not known (any more). */
export function roleOf(
  cx: StateReader,
  key: string,
): { readonly level: RoleLevel; readonly permissions: ReadonlySet<string> } | undefined {
  if (Object.hasOwn(builtIn, key)) return builtIn[key]
  const known = customRole(cx.state(customRoles, cx.instance), key)
  return known && { level: known.level, permissions: setOf(known.permissions) }
}

/** What a role permits; nothing where it is not known. */
export const permissionsIn = (cx: StateReader, key: string): ReadonlySet<string> =>
  roleOf(cx, key)?.permissions ?? nothing

/** The same for who has a store. */
export const rolePermissions = (
  key: string,
  cx: Pick<Cx, "store" | "instance">,
): ReadonlySet<string> => permissionsIn(stateReader(cx), key)

const nothing: ReadonlySet<string> = new Set()

const setOf = keptWith(
  (permissions: readonly string[]): ReadonlySet<string> => new Set(permissions),
)
