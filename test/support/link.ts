import type { Socket } from "bun"

/** Where a link leads: a port of this machine, or a socket. */
export type Target = { readonly port: number } | { readonly unix: string }

/** A cable between two of whom neither knows of it, which can be cut and mended. */
export type Link = {
  readonly port: number
  /** Who is connected is cut off; who comes now is, too, until it is mended. */
  readonly cut: () => void
  /** Nothing gets through any more, and nobody is told. */
  readonly stall: () => void
  /** Who is connected is cut off; who comes then gets through. */
  readonly reset: () => void
  readonly mend: () => void
  /** Leads elsewhere from now on, as an address does that has moved to another server. */
  readonly lead: (to: Target) => void
  readonly stop: () => void
}

type State = "whole" | "cut" | "stalled"

/** One end of a connection, and what waits until the other takes it. */
type End = {
  socket?: Socket<End>
  peer?: End
  waiting: Uint8Array[]
  isOver: boolean
}

const newEnd = (): End => ({ waiting: [], isOver: false })

export function openLink(target: Target): Link {
  let to = target
  let state: State = "whole"
  const ends = new Set<End>()
  const flush = (end: End) => {
    const { socket } = end
    if (!socket || state !== "whole") return
    for (let next = end.waiting[0]; next; next = end.waiting[0]) {
      const sent = socket.write(next)
      if (sent < next.length) {
        if (sent > 0) end.waiting[0] = next.subarray(sent)
        return
      }
      end.waiting.shift()
    }
    if (end.isOver) socket.end()
  }
  const over = (end: End) => {
    ends.delete(end)
    if (!end.peer) return
    end.peer.isOver = true
    flush(end.peer)
  }
  const handlers = {
    data: ({ data: end }: Socket<End>, bytes: Uint8Array) => {
      if (!end.peer) return
      end.peer.waiting.push(new Uint8Array(bytes))
      flush(end.peer)
    },
    drain: ({ data: end }: Socket<End>) => flush(end),
    close: ({ data: end }: Socket<End>) => over(end),
    error: ({ data: end }: Socket<End>) => over(end),
  }
  const connect = (end: End) => {
    const socket = {
      ...handlers,
      open: (opened: Socket<End>) => {
        end.socket = opened
        flush(end)
      },
      connectError: () => {
        if (end.peer) end.peer.socket?.terminate()
      },
    }
    const connecting =
      "unix" in to
        ? Bun.connect<End>({ unix: to.unix, socket, data: end })
        : Bun.connect<End>({ hostname: "127.0.0.1", port: to.port, socket, data: end })
    connecting.catch(() => end.peer?.socket?.terminate())
  }
  const server = Bun.listen<End>({
    hostname: "127.0.0.1",
    port: 0,
    data: newEnd(),
    socket: {
      ...handlers,
      open: (socket) => {
        if (state === "cut") {
          socket.terminate()
          return
        }
        const [near, far] = [newEnd(), newEnd()]
        near.peer = far
        far.peer = near
        near.socket = socket
        socket.data = near
        ends.add(near).add(far)
        connect(far)
      },
    },
  })
  const reset = () => {
    for (const end of ends) end.socket?.terminate()
    ends.clear()
  }
  return {
    port: server.port,
    cut: () => {
      state = "cut"
      reset()
    },
    stall: () => {
      state = "stalled"
    },
    reset,
    mend: () => {
      state = "whole"
      for (const end of ends) flush(end)
    },
    lead: (next) => {
      to = next
    },
    stop: () => {
      reset()
      server.stop(true)
    },
  }
}
