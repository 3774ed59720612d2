// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// An ERC-20 for tests, which can be switched to misbehave as real ones do.
contract Token {
    enum Transfers { Succeed, ReturnFalse, Revert, ReturnNothing }

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    string public name;
    string public symbol;
    uint8 public immutable decimals;
    uint256 public totalSupply;
    uint256 public feeBasisPoints;
    Transfers public transfers;
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;
    mapping(address => bool) public blocked;

    constructor(string memory name_, string memory symbol_, uint8 decimals_) {
        name = name_;
        symbol = symbol_;
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        totalSupply += value;
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setFee(uint256 basisPoints) external {
        feeBasisPoints = basisPoints;
    }

    function setBlocked(address account, bool isBlocked) external {
        blocked[account] = isBlocked;
    }

    function setTransfers(Transfers transfers_) external {
        transfers = transfers_;
    }

    /// An event with no money behind it, as hostile contracts emit.
    function emitTransfer(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return move(msg.sender, to, value);
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        require(allowance[from][msg.sender] >= value, "allowance exceeded");
        allowance[from][msg.sender] -= value;
        return move(from, to, value);
    }

    /// The event names the whole value; the fee is what the receiver does not get.
    function move(address from, address to, uint256 value) private returns (bool) {
        require(transfers != Transfers.Revert, "transfers are stopped");
        require(!blocked[from] && !blocked[to], "account is blocked");
        if (transfers == Transfers.ReturnFalse) return false;
        require(balanceOf[from] >= value, "balance exceeded");
        uint256 fee = value * feeBasisPoints / 10000;
        balanceOf[from] -= value;
        balanceOf[to] += value - fee;
        totalSupply -= fee;
        emit Transfer(from, to, value);
        if (transfers == Transfers.ReturnNothing) assembly { return(0, 0) }
        return true;
    }
}

/// Sends ether by an internal transfer, of which no transaction and no event names the receiver.
contract Sender {
    function send(address payable to) external payable {
        (bool sent,) = to.call{value: msg.value}("");
        require(sent, "not sent");
    }

    /// Several receivers in one transaction.
    function sendMany(address payable[] calldata to, uint256 each) external payable {
        for (uint256 i = 0; i < to.length; i++) {
            (bool sent,) = to[i].call{value: each}("");
            require(sent, "not sent");
        }
    }
}
