import type { ReactNode } from "react"

type BadgeProps = {
  readonly tone?: "quiet" | "done" | "warning" | "danger" | undefined
  readonly children: ReactNode
}

/** The state of a thing, said quietly; colour only where it means something. */
export function Badge({ tone = "quiet", children }: BadgeProps) {
  return <span className={tone === "quiet" ? "badge" : `badge badge-${tone}`}>{children}</span>
}
