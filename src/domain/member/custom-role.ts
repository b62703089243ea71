import { memoizeByObject } from "../../kernel/lru.ts"
import {
  aggregate,
  type Cx,
  type DecisionContext,
  type Event,
  streamPartByKey,
} from "../../store/index.ts"
import type { Target } from "./model.ts"
import { builtInRoles as builtIn, type RoleLevel } from "./roles.ts"

type RoleData = {
  readonly key: string
  readonly displayName: string
  readonly level: Target["level"]
  readonly permissions: readonly string[]
}

export type RoleEvent =
  | Event<"role.added", RoleData>
  | Event<
      "role.changed",
      { readonly key: string } & Partial<Pick<RoleData, "displayName" | "permissions">>
    >
  | Event<"role.removed", { readonly key: string }>

/** A custom role of an instance; times are ms UTC. */
export type CustomRole = RoleData & { readonly created: number; readonly changed: number }

type CustomRoles = { readonly roles: Readonly<Record<string, CustomRole>> }

/**
 * The custom roles of an instance, in its only stream of this type, which has the ID of the
 * instance.
 */
export const customRoles = aggregate<RoleEvent, CustomRoles>({
  stream: "role",
  part: streamPartByKey("key"),
  initial: { roles: {} },
  evolve: {
    "role.added": ({ roles }, { data, time }) => ({
      roles: { ...roles, [data.key]: { ...data, created: time, changed: time } },
    }),
    "role.changed": (state, { data, time }) => {
      const existing = findCustomRole(state, data.key)
      if (!existing) return state
      return { roles: { ...state.roles, [data.key]: { ...existing, ...data, changed: time } } }
    },
    "role.removed": ({ roles }, { data }) => {
      const { [data.key]: _, ...others } = roles
      return { roles: others }
    },
  },
})

/** The role with this key, which can be any string, even "constructor". */
export const findCustomRole = ({ roles }: CustomRoles, key: string): CustomRole | undefined =>
  Object.hasOwn(roles, key) ? roles[key] : undefined

/** Reads states of streams and rows of views: a decision, or a query through `stateReader`. */
export type StateReader = Pick<DecisionContext, "state" | "instance" | "rows">

/** Lets a query read states like a decision. */
export const stateReader = (cx: Pick<Cx, "store" | "instance">): StateReader => ({
  instance: cx.instance,
  state: (kind, id) => cx.store.state(cx, kind, id),
  rows: (query, values) => cx.store.all(cx, query, values),
})

/** The level and permissions of a role; undefined if it does not exist. */
export function findRole(
  cx: StateReader,
  key: string,
): { readonly level: RoleLevel; readonly permissions: ReadonlySet<string> } | undefined {
  if (Object.hasOwn(builtIn, key)) return builtIn[key]
  const existing = findCustomRole(cx.state(customRoles, cx.instance), key)
  return existing && { level: existing.level, permissions: permissionSetOf(existing.permissions) }
}

/** The permissions of a role; empty if it does not exist. */
export const permissionsOfRole = (cx: StateReader, key: string): ReadonlySet<string> =>
  findRole(cx, key)?.permissions ?? noPermissions

/** The permissions of a role, for callers with a store. */
export const rolePermissions = (
  key: string,
  cx: Pick<Cx, "store" | "instance">,
): ReadonlySet<string> => permissionsOfRole(stateReader(cx), key)

const noPermissions: ReadonlySet<string> = new Set()

const permissionSetOf = memoizeByObject(
  (permissions: readonly string[]): ReadonlySet<string> => new Set(permissions),
)
