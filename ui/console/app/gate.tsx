import type { ReactNode } from "react"
import { Alert, Button, Mark } from "../../kit/index.ts"

type GateProps = {
  readonly title: string
  readonly message?: string
  readonly children?: ReactNode
  readonly action?: string
  readonly onAct?: () => void
}

/** A full page outside the console: signed out, or an error before sign-in. */
export function Gate({ title, message, children, action, onAct }: GateProps) {
  return (
    <div className="gate">
      <div className="gate-column">
        <header className="brand">
          <Mark />
          Latchkey
        </header>
        <main className="card gate-card">
          <h1>{title}</h1>
          {message && <Alert tone="danger">{message}</Alert>}
          {children && <p className="quiet">{children}</p>}
          {action && (
            <Button kind="primary" wide onClick={onAct}>
              {action}
            </Button>
          )}
        </main>
      </div>
    </div>
  )
}
