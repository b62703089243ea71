import { Fault } from "../../kernel/fault.ts"
import { memoizeByObject } from "../../kernel/lru.ts"
import { aggregate, type Event } from "../../store/index.ts"

type Nesting = { readonly groupId: string; readonly memberGroupId: string }

export type NestingEvent =
  | Event<"group.group.added", Nesting>
  | Event<"group.group.removed", Nesting>
  /** The group was deleted: it is a member of no group and has no groups as members. */
  | Event<"group.nesting.removed", { readonly groupId: string }>

export type GroupNesting = {
  /** IDs of member groups, by the ID of the group that contains them. */
  readonly memberGroups: Readonly<Record<string, readonly string[]>>
}

/**
 * Which groups of an organization are members of which; its ID is that of the organization. One
 * stream contains all of them, so that concurrent changes are checked against each other.
 */
export const groupNesting = aggregate<NestingEvent, GroupNesting>({
  stream: "group_nesting",
  part: ({ data }) =>
    JSON.stringify([Reflect.get(data, "groupId"), Reflect.get(data, "memberGroupId")]),
  initial: { memberGroups: {} },
  evolve: {
    "group.group.added": (state, { data: { groupId, memberGroupId } }) => ({
      memberGroups: {
        ...state.memberGroups,
        [groupId]: [...membersOf(state, groupId), memberGroupId],
      },
    }),
    "group.group.removed": (state, { data: { groupId, memberGroupId } }) =>
      without(state, (group, member) => group === groupId && member === memberGroupId),
    "group.nesting.removed": (state, { data: { groupId } }) =>
      without(state, (group, member) => group === groupId || member === groupId),
  },
})

function without(
  { memberGroups }: GroupNesting,
  isRemoved: (groupId: string, memberGroupId: string) => boolean,
): GroupNesting {
  const remaining = Object.entries(memberGroups).flatMap(([groupId, ids]) => {
    const others = ids.filter((id) => !isRemoved(groupId, id))
    return others.length > 0 ? [[groupId, others] as const] : []
  })
  return { memberGroups: Object.fromEntries(remaining) }
}

/** IDs of the groups that are members of a group themselves, not through others. */
export const membersOf = ({ memberGroups }: GroupNesting, groupId: string): readonly string[] =>
  Object.hasOwn(memberGroups, groupId) ? (memberGroups[groupId] ?? []) : []

/** The number of memberships of groups in groups in an organization. */
const nestingCount = ({ memberGroups }: GroupNesting): number =>
  Object.values(memberGroups).reduce((sum, ids) => sum + ids.length, 0)

const containers = memoizeByObject(({ memberGroups }: GroupNesting) => {
  const found = new Map<string, string[]>()
  for (const [groupId, ids] of Object.entries(memberGroups)) {
    for (const id of ids) found.set(id, [...(found.get(id) ?? []), groupId])
  }
  return found
})

/** IDs of a group and of all groups that it is in, directly or through others, each once. */
export const withContainers = (nesting: GroupNesting, groupId: string): readonly string[] =>
  reachable(groupId, (id) => containers(nesting).get(id) ?? [])

/** IDs of a group and of all groups that are in it, directly or through others, each once. */
export const withNested = (nesting: GroupNesting, groupId: string): readonly string[] =>
  reachable(groupId, (id) => membersOf(nesting, id))

function reachable(groupId: string, next: (id: string) => readonly string[]): readonly string[] {
  const visited = new Set([groupId])
  for (const id of visited) for (const other of next(id)) visited.add(other)
  return [...visited]
}

/** The maximum number of groups in a chain of nested groups. */
export const depthMax = 5

/** The number of groups in the longest chain that begins with a group; `depthMax` + 1 for more. */
function chainLength(groupId: string, next: (id: string) => readonly string[]): number {
  let level = new Set([groupId])
  let length = 0
  while (level.size > 0 && length <= depthMax) {
    length++
    level = new Set([...level].flatMap(next))
  }
  return length
}

/** The maximum number of memberships of groups in groups: one stream contains all of them. */
const nestingsMax = 10_000

/** Throws if a new member would create a cycle, a chain that is too long, or exceed the limit. */
export function checkNesting(nesting: GroupNesting, { groupId, memberGroupId }: Nesting): void {
  if (nestingCount(nesting) >= nestingsMax) throw tooManyNestingsError()
  if (withContainers(nesting, groupId).includes(memberGroupId)) {
    const message = "a group can't be a member of itself, directly or through other groups"
    throw new Fault("failed_precondition", "group.cycle", message)
  }
  const above = chainLength(groupId, (id) => containers(nesting).get(id) ?? [])
  const below = chainLength(memberGroupId, (id) => membersOf(nesting, id))
  if (above + below <= depthMax) return
  throw new Fault(
    "failed_precondition",
    "group.too_deep",
    `groups can be nested at most ${depthMax} deep`,
  )
}

const tooManyNestingsError = () =>
  new Fault(
    "resource_exhausted",
    "group.too_many_nestings",
    `the groups of an organization can contain at most ${nestingsMax} groups altogether`,
  )
