import { createContext } from "react"

/** Whose data a page shows; by default the selected organization's. */
export type Scope = {
  readonly organizationId?: string
  /**
   * The project on which a role may be held. "any" means an unknown grant, because version 2
   * returns no grant IDs.
   */
  readonly projectId?: string
  /** Ranks (`rank` in the access rules) in which the page's user is above the caller. */
  readonly higherRanks?: readonly string[]
}

export const ScopeContext = createContext<Scope>({})
