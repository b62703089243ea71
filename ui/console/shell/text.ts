import { createContext, useContext } from "react"
import type { Texts } from "./texts/index.ts"

export const TextContext = createContext<Texts | undefined>(undefined)

/** The texts of the console in the reader's language. */
export function useText(): Texts {
  const texts = useContext(TextContext)
  if (!texts) throw new Error("This stands outside the console: render it in TextContext.")
  return texts
}
