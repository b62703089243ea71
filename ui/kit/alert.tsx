import type { ReactNode } from "react"

type AlertProps = {
  readonly tone: "danger" | "warning" | "done"
  readonly title?: string | undefined
  readonly children: ReactNode
}

/** A message about the surrounding content; errors are announced immediately. */
export function Alert({ tone, title, children }: AlertProps) {
  return (
    <div className={`alert alert-${tone}`} role={tone === "danger" ? "alert" : "status"}>
      {title && <p className="alert-title">{title}</p>}
      {children}
    </div>
  )
}
