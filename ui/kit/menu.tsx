import { type ReactNode, useEffect, useRef } from "react"

type MenuProps = {
  readonly label: ReactNode
  readonly name: string
  readonly children: ReactNode
}

/** A button that opens a small panel; Escape or a click outside closes it. */
export function Menu({ label, name, children }: MenuProps) {
  const ref = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const fold = (event: Event) => {
      const menu = ref.current
      if (!menu?.open) return
      const isInside = event.target instanceof Node && menu.contains(event.target)
      const escaped = event instanceof KeyboardEvent && event.key === "Escape"
      if (event instanceof KeyboardEvent ? escaped : !isInside) menu.open = false
    }
    document.addEventListener("pointerdown", fold)
    document.addEventListener("keydown", fold)
    return () => {
      document.removeEventListener("pointerdown", fold)
      document.removeEventListener("keydown", fold)
    }
  }, [])
  return (
    <details className="menu" ref={ref}>
      <summary>
        {label}
        <span className="visually-hidden"> {name}</span>
      </summary>
      <div className="menu-panel">{children}</div>
    </details>
  )
}
