import type { ReactNode } from "react"

type SearchFormProps = {
  readonly onAsk: () => void
  readonly className?: string
  readonly children: ReactNode
}

/** Fields that look something up and change nothing: Enter asks. */
export function SearchForm({ onAsk, className, children }: SearchFormProps) {
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
