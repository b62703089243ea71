import { aggregate, type Event } from "../../store/index.ts"

export type OrgEvent =
  | Event<"org.added", { readonly name: string }>
  | Event<"org.domain.primary.set", { readonly domain: string }>
  | Event<"org.changed", { readonly name: string }>
  | Event<"org.deactivated">
  | Event<"org.reactivated">

export type OrgStatus = "active" | "inactive"

export type Org = {
  readonly status: "absent" | OrgStatus
  readonly name: string
  /** Made from the name at creation, and kept: login names end in it. */
  readonly primaryDomain: string
}

/** The owner of users and projects; it owns itself. */
export const org = aggregate<OrgEvent, Org>({
  stream: "org",
  initial: { status: "absent", name: "", primaryDomain: "" },
  evolve: {
    "org.added": (state, { data }) => ({ ...state, status: "active", name: data.name }),
    "org.domain.primary.set": (state, { data }) => ({ ...state, primaryDomain: data.domain }),
    "org.changed": (state, { data }) => ({ ...state, name: data.name }),
    "org.deactivated": (state) => ({ ...state, status: "inactive" }),
    "org.reactivated": (state) => ({ ...state, status: "active" }),
  },
})
