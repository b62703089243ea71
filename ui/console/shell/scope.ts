import { createContext } from "react"

/** Whose things a page shows: those of the chosen organisation where none is said. */
export type Scope = {
  readonly organizationId?: string
  /**
   * The project that a role may be held on alone. "any": one of the grants, whose ids v2 does not
   * tell.
   */
  readonly held?: string
  /** By what ranks (`rank` of the book) one stands below whom the page is about. */
  readonly below?: readonly string[]
}

export const ScopeContext = createContext<Scope>({})
