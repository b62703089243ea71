import { Fault } from "../../kernel/fault.ts"
import { memoizeByObject } from "../../kernel/lru.ts"
import { aggregate, type Event } from "../../store/index.ts"

type GroupPair = { readonly groupId: string; readonly memberGroupId: string }

export type NestingEvent =
  | Event<"group.group.added", GroupPair>
  | Event<"group.group.removed", GroupPair>
  /** The group was removed: it is no longer a member of groups, and no longer has members. */
  | Event<"group.nesting.removed", { readonly groupId: string }>

export type GroupNesting = {
  /** IDs of member groups, by the ID of the group that contains them directly. */
  readonly memberGroups: Readonly<Record<string, readonly string[]>>
}

/**
 * The member groups of an organization's groups. Each organization has one stream, with the
 * organization's ID, so that concurrent changes are checked against each other.
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
      withoutMembers(state, (group, member) => group === groupId && member === memberGroupId),
    "group.nesting.removed": (state, { data: { groupId } }) =>
      withoutMembers(state, (group, member) => group === groupId || member === groupId),
  },
})

function withoutMembers(
  { memberGroups }: GroupNesting,
  isRemoved: (groupId: string, memberGroupId: string) => boolean,
): GroupNesting {
  const remaining = Object.entries(memberGroups).flatMap(([groupId, ids]) => {
    const others = ids.filter((id) => !isRemoved(groupId, id))
    return others.length > 0 ? [[groupId, others] as const] : []
  })
  return { memberGroups: Object.fromEntries(remaining) }
}

/** IDs of the groups that are direct members of a group. */
export const membersOf = ({ memberGroups }: GroupNesting, groupId: string): readonly string[] =>
  Object.hasOwn(memberGroups, groupId) ? (memberGroups[groupId] ?? []) : []

/** The number of memberships of groups in other groups within an organization. */
const nestingCount = ({ memberGroups }: GroupNesting): number =>
  Object.values(memberGroups).reduce((sum, ids) => sum + ids.length, 0)

const containersByGroup = memoizeByObject(({ memberGroups }: GroupNesting) => {
  const result = new Map<string, string[]>()
  for (const [groupId, ids] of Object.entries(memberGroups)) {
    for (const id of ids) result.set(id, [...(result.get(id) ?? []), groupId])
  }
  return result
})

/**
 * IDs of a group and of all groups that contain it, directly or through other groups, each once.
 */
export const withContainers = (nesting: GroupNesting, groupId: string): readonly string[] =>
  reachableGroups(groupId, (id) => containersByGroup(nesting).get(id) ?? [])

/**
 * IDs of a group and of all groups that it contains, directly or through other groups, each once.
 */
export const withNested = (nesting: GroupNesting, groupId: string): readonly string[] =>
  reachableGroups(groupId, (id) => membersOf(nesting, id))

function reachableGroups(
  groupId: string,
  next: (id: string) => readonly string[],
): readonly string[] {
  const visited = new Set([groupId])
  for (const id of visited) for (const other of next(id)) visited.add(other)
  return [...visited]
}

/** Maximum number of levels of nested groups. */
const groupDepthMax = 5

/** The number of levels from a group in one direction; `groupDepthMax` + 1 if it is exceeded. */
function depthFrom(groupId: string, next: (id: string) => readonly string[]): number {
  let level = new Set([groupId])
  let depth = 0
  while (level.size > 0 && depth <= groupDepthMax) {
    depth++
    level = new Set([...level].flatMap(next))
  }
  return depth
}

/** Maximum number of memberships of groups in groups, because one stream contains all of them. */
const nestingsMax = 10_000

/** Throws if a new member would create a cycle, exceed the maximum depth, or exceed the limit. */
export function checkNesting(nesting: GroupNesting, { groupId, memberGroupId }: GroupPair): void {
  if (nestingCount(nesting) >= nestingsMax) throw tooManyNestingsError()
  if (withContainers(nesting, groupId).includes(memberGroupId)) {
    const message = "a group can't be a member of itself, directly or through other groups"
    throw new Fault("failed_precondition", "group.cycle", message)
  }
  const above = depthFrom(groupId, (id) => containersByGroup(nesting).get(id) ?? [])
  const below = depthFrom(memberGroupId, (id) => membersOf(nesting, id))
  if (above + below <= groupDepthMax) return
  throw new Fault(
    "failed_precondition",
    "group.too_deep",
    `groups can be nested at most ${groupDepthMax} levels deep`,
  )
}

const tooManyNestingsError = () =>
  new Fault(
    "resource_exhausted",
    "group.too_many_nestings",
    `the groups of an organization can contain at most ${nestingsMax} groups in total`,
  )
