import type { DescMethod } from "@bufbuild/protobuf"
import { type ReactNode, Suspense } from "react"
import { Link, type LinkOptions } from "./link.tsx"
import { useIsPermitted } from "./use-may.ts"

/** The operation that a control calls; "own" means an operation on the user's own account. */
export type RequiredPermission = { readonly needs: DescMethod | "own" }

type IfPermittedProps = RequiredPermission & { readonly children: ReactNode }

/** Shows a control only to callers who can call the operation; doesn't delay the page. */
export function IfPermitted({ needs, children }: IfPermittedProps) {
  if (needs === "own") return children
  return (
    <Suspense>
      <IfOperationAllowed needs={needs}>{children}</IfOperationAllowed>
    </Suspense>
  )
}

type IfOperationAllowedProps = { readonly needs: DescMethod; readonly children: ReactNode }

function IfOperationAllowed({ needs, children }: IfOperationAllowedProps) {
  return useIsPermitted()(needs) && children
}

type PermittedLinkProps = {
  readonly needs: DescMethod
  readonly name: string
  readonly to: LinkOptions
}

/** A name that is a link for callers with permission. */
export function PermittedLink({ needs, name, to }: PermittedLinkProps) {
  return useIsPermitted()(needs) ? <Link {...to}>{name}</Link> : name
}
