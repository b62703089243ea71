import { createContext, useContext } from "react"
import type { Translate } from "../kit/catalogue.ts"
import type { Core } from "./core.ts"
import type { Changed } from "./load.ts"
import type { SignedIn } from "./sign-in.ts"
import type { TextKey } from "./texts/index.ts"

export type Organization = { readonly id: string; readonly name: string }

/** What every page of the console is handed. */
export type House = {
  readonly t: Translate<TextKey>
  readonly language: string
  readonly core: Core
  readonly signedIn: Pick<SignedIn, "person" | "signOut">
  readonly organizations: readonly Organization[]
  /** The organisation whose things are shown and in which new ones are made. */
  readonly organization: Organization
  /** Whether one may see what holds for the whole instance. */
  readonly seesInstance: boolean
  readonly choose: (organizationId: string) => void
  /** One has come, has gone or is called otherwise. */
  readonly organizationsChanged: Changed
}

export const HouseContext = createContext<House | undefined>(undefined)

export function useHouse(): House {
  const house = useContext(HouseContext)
  if (!house) throw new Error("This page stands outside the house: render it in HouseContext.")
  return house
}
