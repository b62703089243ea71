import type { ReactNode } from "react"

type SearchFormProps = {
  readonly onSearch: () => void
  readonly className?: string
  readonly children: ReactNode
}

/** A form that searches without changing anything; Enter submits it. */
export function SearchForm({ onSearch, className, children }: SearchFormProps) {
  return (
    <search>
      <form
        className={className}
        onSubmit={(event) => {
          event.preventDefault()
          onSearch()
        }}
      >
        {children}
      </form>
    </search>
  )
}
