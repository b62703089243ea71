import type { MouseEvent, ReactNode } from "react"
import { ButtonLink } from "../kit/button.tsx"
import { go, pathOf, type Route } from "./route.ts"

type LinkProps = {
  readonly to: Route
  readonly children: ReactNode
  readonly className?: string
  readonly current?: boolean
  readonly onFollow?: () => void
}

/** A real link: opens in a tab, can be copied; a plain click stays inside the page. */
export function Link({ to, children, className, current, onFollow }: LinkProps) {
  return (
    <a
      href={pathOf(to)}
      className={className}
      aria-current={current ? "page" : undefined}
      onClick={(event) => {
        if (follow(event, to)) onFollow?.()
      }}
    >
      {children}
    </a>
  )
}

type LinkButtonProps = {
  readonly to: Route
  readonly children: ReactNode
  readonly kind?: "primary"
}

export function LinkButton({ to, children, kind }: LinkButtonProps) {
  return (
    <ButtonLink href={pathOf(to)} kind={kind} onClick={(event) => follow(event, to)}>
      {children}
    </ButtonLink>
  )
}

function follow(event: MouseEvent, to: Route): boolean {
  const elsewhere = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey
  if (event.button !== 0 || elsewhere) return false
  event.preventDefault()
  go(to)
  return true
}
