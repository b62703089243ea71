import type { ReactNode } from "react"

type DisclosureProps = {
  readonly summary: ReactNode
  readonly open?: boolean
  readonly children: ReactNode
}

/** What few people need stays folded until they ask for it. */
export function Disclosure({ summary, open, children }: DisclosureProps) {
  return (
    <details className="fold" open={open}>
      <summary>{summary}</summary>
      <div className="fold-body">{children}</div>
    </details>
  )
}
