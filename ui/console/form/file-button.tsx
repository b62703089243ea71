import { useRef } from "react"
import { Button } from "../../kit/index.ts"

type FileButtonProps = {
  readonly label: string
  /** The thing that the file is for, where there are several: it is part of the label. */
  readonly name?: string
  /** The file types, as a file input has them. */
  readonly accept: string
  readonly busy: boolean
  readonly small?: boolean
  readonly onFile: (file: File) => void
}

/** A button with which a user chooses a file; the same file can be chosen again. */
export function FileButton({ label, name, accept, busy, small, onFile }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button
        small={small}
        disabled={busy}
        {...(name !== undefined && { "aria-label": `${name}: ${label}` })}
        onClick={() => input.current?.click()}
      >
        {label}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={name ?? label}
        accept={accept}
        onChange={({ target }) => {
          const [file] = target.files ?? []
          if (file) onFile(file)
          target.value = ""
        }}
      />
    </>
  )
}
