import type { ReactNode } from "react"

type EmptyStateProps = {
  readonly title: string
  readonly children: ReactNode
  readonly action?: ReactNode
}

/** An empty list: its purpose and the first action. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      <p className="quiet">{children}</p>
      {action && <div className="row">{action}</div>}
    </div>
  )
}
