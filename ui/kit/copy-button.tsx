import { useEffect, useState } from "react"
import { Button, type ButtonKind } from "./button.tsx"

type CopyButtonProps = {
  readonly value: string
  readonly label: string
  readonly done: string
  /** What is copied, for those who don't see what stands beside the button. */
  readonly what?: string
  readonly kind?: ButtonKind
}

/** Copies, and says so for two seconds. */
export function CopyButton({ value, label, done, what, kind }: CopyButtonProps) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <Button
      small
      kind={kind}
      aria-label={what && `${copied ? done : label}: ${what}`}
      onClick={() => {
        copyText(value)
        setCopied(true)
      }}
    >
      <span aria-live="polite">{copied ? done : label}</span>
    </Button>
  )
}

/** The clipboard API is missing on plain http beyond localhost, where a selection still works. */
function copyText(value: string): void {
  if (window.isSecureContext) {
    void navigator.clipboard.writeText(value)
    return
  }
  const area = document.createElement("textarea")
  area.value = value
  area.className = "visually-hidden"
  document.body.append(area)
  area.select()
  document.execCommand("copy")
  area.remove()
}
