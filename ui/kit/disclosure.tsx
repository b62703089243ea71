import type { ReactNode } from "react"

type DisclosureProps = {
  readonly summary: ReactNode
  readonly open?: boolean
  readonly children: ReactNode
}

/** Rarely needed content, collapsed by default. */
export function Disclosure({ summary, open, children }: DisclosureProps) {
  return (
    <details className="fold" open={open}>
      <summary>{summary}</summary>
      <div className="fold-body">{children}</div>
    </details>
  )
}
