import type { DescMethod } from "@bufbuild/protobuf"
import type { ReactNode } from "react"
import { useMay } from "./permission.ts"

/** The operation that a control calls; "own" is what everybody may do to themself. */
export type Needs = { readonly needs: DescMethod | "own" }

type MayProps = Needs & { readonly children: ReactNode }

/** What calls an operation, or leads there, is there for who may call it. */
export function May({ needs, children }: MayProps) {
  return needs === "own" ? children : <IfAllowed needs={needs}>{children}</IfAllowed>
}

type IfAllowedProps = { readonly needs: DescMethod; readonly children: ReactNode }

function IfAllowed({ needs, children }: IfAllowedProps) {
  return useMay()(needs) && children
}
