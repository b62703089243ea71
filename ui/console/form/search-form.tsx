import type { ReactNode } from "react"

type AskProps = {
  readonly onAsk: () => void
  readonly className?: string
  readonly children: ReactNode
}

/** Fields that look something up and change nothing: Enter asks. */
export function Ask({ onAsk, className, children }: AskProps) {
  return (
    <search>
      <form
        className={className}
        onSubmit={(event) => {
          event.preventDefault()
          onAsk()
        }}
      >
        {children}
      </form>
    </search>
  )
}
