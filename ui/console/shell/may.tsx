import type { DescMethod } from "@bufbuild/protobuf"
import { type ReactNode, Suspense } from "react"
import { Link, type LinkOptions } from "./link.tsx"
import { useMay } from "./use-may.ts"

/** The operation that a control calls; "own" is what everybody may do to themself. */
export type Needs = { readonly needs: DescMethod | "own" }

type MayProps = Needs & { readonly children: ReactNode }

/** What calls an operation, or leads there, for who may call it; no page waits for that. */
export function May({ needs, children }: MayProps) {
  if (needs === "own") return children
  return (
    <Suspense>
      <IfAllowed needs={needs}>{children}</IfAllowed>
    </Suspense>
  )
}

type IfAllowedProps = { readonly needs: DescMethod; readonly children: ReactNode }

function IfAllowed({ needs, children }: IfAllowedProps) {
  return useMay()(needs) && children
}

type LedProps = { readonly needs: DescMethod; readonly name: string; readonly to: LinkOptions }

/** A name that leads on, for who may look there. */
export function Led({ needs, name, to }: LedProps) {
  return useMay()(needs) ? <Link {...to}>{name}</Link> : name
}
