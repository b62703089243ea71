import { aggregate, type Event } from "../../store/index.ts"

export type GroupEvent =
  | Event<
      "group.added",
      { readonly name: string; readonly description: string; readonly organizationId: string }
    >
  | Event<"group.changed", { readonly name?: string; readonly description?: string }>
  | Event<"group.removed">

export type Group = {
  readonly status: "absent" | "active" | "removed"
  readonly orgId: string
  readonly name: string
  readonly description: string
}

const absent: Group = { status: "absent", orgId: "", name: "", description: "" }

/** Users and groups of an organization; they have all roles of the group. */
export const group = aggregate<GroupEvent, Group>({
  stream: "group",
  initial: absent,
  evolve: {
    "group.added": (_, { data: { name, description, organizationId } }) => ({
      status: "active",
      orgId: organizationId,
      name,
      description,
    }),
    "group.changed": (state, { data }) => ({ ...state, ...data }),
    "group.removed": () => ({ ...absent, status: "removed" }),
  },
})
