import type { ReactNode } from "react"

type BadgeProps = {
  readonly tone?: "quiet" | "done" | "warning" | "danger" | undefined
  readonly children: ReactNode
}

/** The state of a resource; colored only if it is significant. */
export function Badge({ tone = "quiet", children }: BadgeProps) {
  return <span className={tone === "quiet" ? "badge" : `badge badge-${tone}`}>{children}</span>
}
